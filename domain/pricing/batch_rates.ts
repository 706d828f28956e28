/**
 * What a call in a batch costs: a share of every rate of the row that prices it (R12).
 *
 * @module
 */
import type { RateMatch, RateRow, Rates } from "./rates.ts";

/** Providers that charge half of every rate for a call in a batch. */
const HALF_PRICED: ReadonlySet<string> = new Set(["anthropic", "google", "openai"]);

/** The share of its rates that a default row charges in a batch, in percent; null for no batch rate. */
export function defaultBatchPercent(
  row: Pick<RateRow, "provider" | "rates" | "tiers">,
): number | null {
  const isHalf = row.provider !== null && HALF_PRICED.has(row.provider) && isWhole(row, 50);
  return isHalf ? 50 : null;
}

/** Whether a share of every rate of a row is a whole number of picodollars per token. */
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

/** Matches of calls in batches, one object for one match: callers tell matches apart by it. */
const MATCHES = new WeakMap<RateMatch, RateMatch>();

/** The match with the batch rates of its row; null where the row has none. */
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
