/**
 * Tokens of a batch, summed without a bigint for each event: those take ten times as long.
 *
 * @module
 */
import type { LlmCall, UnpricedModel } from "./events.ts";

/** A sum of whole numbers, exact beyond 2^53. */
class Sum {
  #safe = 0;
  #rest = 0n;

  add(number: number): void {
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
export type CallTotals = Omit<UnpricedModel, "model" | "provider">;

/** Sums over calls. */
export class TokenSums {
  #calls = 0;
  readonly #input = new Sum();
  readonly #output = new Sum();
  readonly #cached = new Sum();

  /** Counts one call in. */
  add(call: LlmCall): void {
    this.#calls++;
    this.#input.add(call.inputTokens);
    this.#output.add(call.outputTokens);
    this.#cached.add(call.cachedInputTokens);
  }

  /** The sums so far. */
  total(): CallTotals {
    return {
      calls: this.#calls,
      inputTokens: this.#input.total(),
      outputTokens: this.#output.total(),
      cachedInputTokens: this.#cached.total(),
    };
  }
}

/** Sums for each model of a batch. */
export class ModelSums {
  readonly #models: { model: string; provider: string | null; sums: TokenSums }[] = [];

  /** The sums of a model. Batches have few models, so looking through them is quickest. */
  of(model: string, provider: string | null): TokenSums {
    for (const known of this.#models) {
      if (known.model === model && known.provider === provider) return known.sums;
    }
    const sums = new TokenSums();
    this.#models.push({ model, provider, sums });
    return sums;
  }

  /** Usage by model. */
  usages(): UnpricedModel[] {
    return this.#models.map(({ model, provider, sums }) => ({ provider, model, ...sums.total() }));
  }
}
