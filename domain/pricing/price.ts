/**
 * Computes the cost of a call from a rate card row: whole picodollars, never rounded (decisions,
 * section 5).
 *
 * @module
 */
import type { Picodollars } from "./money.ts";
import type { CallTokens, RateRow, Rates } from "./rates.ts";

/** Cost of one kind of tokens. */
export interface CostLine {
  /** Kind of the tokens. */
  readonly kind: "input" | "cached_input" | "cache_write" | "output";
  /** Number of tokens. */
  readonly tokens: number;
  /** Picodollars per token. */
  readonly rate: number;
  /** Tokens times rate. */
  readonly cost: Picodollars;
}

/** Computes the price of a call in picodollars: a number if it is a safe integer, else a bigint. */
export function priceOf(row: RateRow, tokens: CallTokens): number | bigint {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = tokens;
  const apart = isApart(tokens);
  const { input, output, cachedInput, cacheWrite } = ratesFor(row, tokens, apart);
  const plain = apart ? inputTokens : inputTokens - cachedInputTokens - cacheWriteTokens;
  const cost = plain * input + cachedInputTokens * (cachedInput ?? input) +
    cacheWriteTokens * (cacheWrite ?? input) + outputTokens * output;
  // No addend is negative, so a total that is a safe integer has exact addends. Rounding cannot turn a
  // larger total into a safe integer, because 2^53 - 1 and everything below it are exact.
  if (cost <= Number.MAX_SAFE_INTEGER) return cost;
  return costLines(row, tokens).reduce((sum, { cost }) => sum + cost, 0n);
}

/** Breaks the price down by kind of tokens; omits kinds without tokens. */
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

function costLine(kind: CostLine["kind"], tokens: number, rate: number): CostLine {
  return { kind, tokens, rate, cost: BigInt(tokens) * BigInt(rate) };
}

/**
 * Returns whether input excludes cache reads and writes: they exceed it, so they are reported
 * separately.
 */
export function isApart({ inputTokens, cachedInputTokens, cacheWriteTokens }: CallTokens): boolean {
  // A total beyond the safe integers is rounded but stays above any input.
  return cachedInputTokens + cacheWriteTokens > inputTokens;
}

/** Returns the rates of the tier reached by the total of all input tokens. */
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
