/**
 * Tokens and costs of a batch, summed without a bigint for each event: those take ten times as long.
 *
 * @module
 */
import type { LlmCall } from "../pricing/llm_call.ts";
import type { ModelUsage } from "./model_usage.ts";

/** A sum of whole numbers, exact beyond 2^53. */
class Sum {
  #safe = 0;
  #rest = 0n;

  add(number: number | bigint): void {
    if (typeof number === "bigint") {
      this.#rest += number;
      return;
    }
    const next = this.#safe + number;
    if (next <= Number.MAX_SAFE_INTEGER) this.#safe = next;
    else {
      this.#rest += BigInt(this.#safe);
      this.#safe = number;
    }
  }

  total(): bigint {
    return this.#rest + BigInt(this.#safe);
  }
}

/** What calls come to. */
export type CallTotals = Omit<ModelUsage, "model" | "provider" | "priced">;

/** Sums over calls. */
export class TokenSums {
  #calls = 0;
  readonly #input = new Sum();
  readonly #output = new Sum();
  readonly #cached = new Sum();
  readonly #cost = new Sum();

  /** Counts one call in, at its cost in picodollars. */
  add(call: LlmCall, cost: number | bigint): void {
    this.#calls++;
    this.#input.add(call.inputTokens);
    this.#output.add(call.outputTokens);
    this.#cached.add(call.cachedInputTokens);
    this.#cost.add(cost);
  }

  /** The sums so far. */
  total(): CallTotals {
    return {
      calls: this.#calls,
      inputTokens: this.#input.total(),
      outputTokens: this.#output.total(),
      cachedInputTokens: this.#cached.total(),
      cost: this.#cost.total(),
    };
  }
}

/** Sums for each model of a batch, its calls with a price and those without apart. */
export class ModelSums {
  readonly #models: {
    readonly model: string;
    readonly provider: string | null;
    readonly priced: boolean;
    readonly sums: TokenSums;
  }[] = [];

  /** The sums of a model. Batches have few models, so looking through them is quickest. */
  of(model: string, provider: string | null, priced: boolean): TokenSums {
    for (const known of this.#models) {
      const same = known.model === model && known.provider === provider &&
        known.priced === priced;
      if (same) return known.sums;
    }
    const sums = new TokenSums();
    this.#models.push({ model, provider, priced, sums });
    return sums;
  }

  /** Usage by model. */
  usages(): ModelUsage[] {
    return this.#models.map(({ sums, ...name }) => ({ ...name, ...sums.total() }));
  }
}
