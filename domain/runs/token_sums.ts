/**
 * Totals of a batch's tokens and costs. They avoid a bigint per event, which would take ten times
 * as long.
 *
 * @module
 */
import type { LlmCall } from "../pricing/llm_call.ts";
import type { ModelUsage } from "./model_usage.ts";

/** A sum of integers, exact beyond 2^53. */
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

/** Totals of calls. */
export type CallTotals = Omit<ModelUsage, "model" | "provider" | "priced">;

/** Accumulates the totals of calls. */
export class TokenSums {
  #calls = 0;
  readonly #input = new Sum();
  readonly #output = new Sum();
  readonly #cached = new Sum();
  readonly #cost = new Sum();

  /** Adds one call at its cost in picodollars. */
  add(call: LlmCall, cost: number | bigint): void {
    this.#calls++;
    this.#input.add(call.inputTokens);
    this.#output.add(call.outputTokens);
    this.#cached.add(call.cachedInputTokens);
    this.#cost.add(cost);
  }

  /** Returns the current totals. */
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

/** Accumulates totals per model of a batch; calls with and without a price are separate. */
export class ModelSums {
  readonly #models: {
    readonly model: string;
    readonly provider: string | null;
    readonly priced: boolean;
    readonly sums: TokenSums;
  }[] = [];

  /**
   * Returns the accumulator of a model. Batches have few models, so a linear search is fastest.
   */
  of(model: string, provider: string | null, priced: boolean): TokenSums {
    for (const entry of this.#models) {
      const same = entry.model === model && entry.provider === provider &&
        entry.priced === priced;
      if (same) return entry.sums;
    }
    const sums = new TokenSums();
    this.#models.push({ model, provider, priced, sums });
    return sums;
  }

  /** Returns the usage by model. */
  usages(): ModelUsage[] {
    return this.#models.map(({ sums, ...name }) => ({ ...name, ...sums.total() }));
  }
}
