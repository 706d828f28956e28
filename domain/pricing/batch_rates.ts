/**
 * Batch rates: a call in a batch costs a percentage of every rate of its row (R12).
 *
 * @module
 */
import { mapRates, type RateMatch, type RateRow, type Rates } from "./rates.ts";

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
  // Rates are below 10^12, so the products are safe integers.
  // Rates are below 10^12, so the products are safe integers.
  const isWholeShare = (rate: number | null) => (rate ?? 0) * percent % 100 === 0;
  return [rates, ...tiers.map((tier) => tier.rates)]
    .every((rates) => Object.values<number | null>({ ...rates }).every(isWholeShare));
}

/** Returns the match with the batch rates of its row; null if the row has none. */
export function batchMatchOf({ row, match }: RateMatch): RateMatch | null {
  const percent = row.batchPercent;
  if (percent === undefined) return null;
  const scaled = (rates: Rates) => mapRates(rates, (rate) => rate * percent / 100);
  const tiers = row.tiers.map((tier) => ({ ...tier, rates: scaled(tier.rates) }));
  return { row: { ...row, rates: scaled(row.rates), tiers }, match, isBatch: true };
}
