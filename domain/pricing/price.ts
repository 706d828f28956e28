/**
 * What a call costs by a row of the rate card: whole picodollars, never rounded (decisions, section 5).
 *
 * @module
 */
import type { Picodollars } from "./money.ts";
import type { CallTokens, RateRow, Rates } from "./rates.ts";

/** Cost of a call. */
export interface Price {
  /** Picodollars, exactly: a number while it is a safe integer, else a bigint. */
  readonly cost: number | bigint;
  /** Whether cached tokens and cache writes were more than the input, so on top of it. */
  readonly apart: boolean;
}

/** Tokens of one kind at their rate. */
export interface CostLine {
  /** What the tokens were. */
  readonly kind: "input" | "cached_input" | "cache_write" | "output";
  /** How many. */
  readonly tokens: number;
  /** Picodollars per token. */
  readonly rate: number;
  /** Tokens times rate. */
  readonly cost: Picodollars;
}

/** Prices a call. */
export function priceOf(row: RateRow, tokens: CallTokens): Price {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = tokens;
  const apart = isApart(tokens);
  const { input, output, cachedInput, cacheWrite } = ratesFor(row, tokens, apart);
  const plain = apart ? inputTokens : inputTokens - cachedInputTokens - cacheWriteTokens;
  const cost = plain * input + cachedInputTokens * (cachedInput ?? input) +
    cacheWriteTokens * (cacheWrite ?? input) + outputTokens * output;
  // No part is negative, so a sum that is a safe integer has only exact parts. One that is not
  // cannot come out as safe by rounding: 2^53 - 1 and everything below it are exact.
  return { cost: cost <= Number.MAX_SAFE_INTEGER ? cost : exactCost(row, tokens), apart };
}

/** The same price part by part, without the kinds that have no tokens. */
export function costLines(row: RateRow, tokens: CallTokens): readonly CostLine[] {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = tokens;
  const apart = isApart(tokens);
  const { input, output, cachedInput, cacheWrite } = ratesFor(row, tokens, apart);
  const plain = apart ? inputTokens : inputTokens - cachedInputTokens - cacheWriteTokens;
  return [
    costLine("input", plain, input),
    costLine("cached_input", cachedInputTokens, cachedInput ?? input),
    costLine("cache_write", cacheWriteTokens, cacheWrite ?? input),
    costLine("output", outputTokens, output),
  ].filter(({ tokens }) => tokens > 0);
}

function exactCost(row: RateRow, tokens: CallTokens): bigint {
  return costLines(row, tokens).reduce((sum, { cost }) => sum + cost, 0n);
}

function costLine(kind: CostLine["kind"], tokens: number, rate: number): CostLine {
  return { kind, tokens, rate, cost: BigInt(tokens) * BigInt(rate) };
}

/** Input includes what was read from caches and written to them; when it cannot, it does not. */
function isApart({ inputTokens, cachedInputTokens, cacheWriteTokens }: CallTokens): boolean {
  // A sum beyond the safe integers is rounded, but stays above any input.
  return cachedInputTokens + cacheWriteTokens > inputTokens;
}

/** The rates of the tier that all input tokens together reach. */
function ratesFor({ rates, tiers }: RateRow, tokens: CallTokens, apart: boolean): Rates {
  if (tiers.length === 0) return rates;
  const { inputTokens, cachedInputTokens, cacheWriteTokens } = tokens;
  const input = apart ? inputTokens + cachedInputTokens + cacheWriteTokens : inputTokens;
  let reached = rates;
  for (const tier of tiers) {
    if (input > tier.aboveInputTokens) reached = tier.rates;
  }
  return reached;
}
