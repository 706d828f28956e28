/**
 * Batch rates: a call in a batch costs a percentage of every rate of its row (R12).
 *
 * @module
 */
import type { RateMatch, RateRow, Rates } from "./rates.ts";

/** Providers that charge half of every rate for calls in a batch. */
const HALF_PRICED: ReadonlySet<string> = new Set(["anthropic", "google", "openai"]);

/** Returns the percentage of its rates that a default row charges in a batch; null for no batch rate. */
export function defaultBatchPercent(
  row: Pick<RateRow, "provider" | "rates" | "tiers">,
): number | null {
  const isHalf = row.provider !== null && HALF_PRICED.has(row.provider) && isWhole(row, 50);
  return isHalf ? 50 : null;
}

/** Returns whether a percentage of every rate of a row is a whole number of picodollars per token. */
export function isWhole(
  { rates, tiers }: Pick<RateRow, "rates" | "tiers">,
  percent: number,
): boolean {
  return [rates, ...tiers.map((tier) => tier.rates)].every(
    ({ input, output, cachedInput, cacheWrite }) =>
      [input, output, cachedInput ?? 0, cacheWrite ?? 0].every((rate) =>
        isWholeShare(rate, percent)
      ),
  );
}

function isWholeShare(rate: number, percent: number): boolean {
  // Rates are below 10^12, so the product is a safe integer.
  return rate * percent % 100 === 0;
}

/** Batch match of each match, cached because callers compare matches by identity. */
const MATCHES = new WeakMap<RateMatch, RateMatch>();

/** Returns the match with the batch rates of its row; null if the row has none. */
export function batchMatchOf(match: RateMatch): RateMatch | null {
  const percent = match.row.batchPercent;
  if (percent === undefined) return null;
  let inBatch = MATCHES.get(match);
  if (inBatch === undefined) {
    inBatch = { row: inBatchRow(match.row, percent), match: match.match, isBatch: true };
    MATCHES.set(match, inBatch);
  }
  return inBatch;
}

function inBatchRow(row: RateRow, percent: number): RateRow {
  return {
    ...row,
    rates: scaled(row.rates, percent),
    tiers: row.tiers.map((tier) => ({ ...tier, rates: scaled(tier.rates, percent) })),
  };
}

function scaled({ input, output, cachedInput, cacheWrite }: Rates, percent: number): Rates {
  const share = (rate: number) => rate * percent / 100;
  return {
    input: share(input),
    output: share(output),
    cachedInput: cachedInput === null ? null : share(cachedInput),
    cacheWrite: cacheWrite === null ? null : share(cacheWrite),
  };
}
