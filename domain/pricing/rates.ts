/**
 * Rate card rows and the token usage of calls.
 *
 * A rate is dollars per million tokens with at most 6 decimals. So one token costs a whole number
 * of picodollars, and no cost is ever rounded (decisions, section 5).
 *
 * @module
 */

/** Picodollars per token of each kind: $1 per million tokens is 1,000,000. */
export interface Rates {
  /** Input tokens that are neither cache reads nor cache writes. */
  readonly input: number;
  /** Output tokens. */
  readonly output: number;
  /** Input tokens read from a cache; null if the card has no rate, then priced as input. */
  readonly cachedInput: number | null;
  /** Input tokens written to a cache; null if the card has no rate, then priced as input. */
  readonly cacheWrite: number | null;
}

/** Converts each rate; null stays null. */
export function mapRates(
  { input, output, cachedInput, cacheWrite }: Rates,
  convert: (rate: number) => number,
): Rates {
  return {
    input: convert(input),
    output: convert(output),
    cachedInput: cachedInput === null ? null : convert(cachedInput),
    cacheWrite: cacheWrite === null ? null : convert(cacheWrite),
  };
}

/** Rates of calls with long input. They apply to all tokens of the call, not only those above the threshold. */
export interface RateTier {
  /** Threshold: the tier applies to calls with more input tokens. */
  readonly aboveInputTokens: number;
  /** Rates of the tier. */
  readonly rates: Rates;
}

/** One row of a rate card. */
export interface RateRow {
  /** Permanent identifier: a changed price is a new row. */
  readonly id: string;
  /** Origin: built into the service, or the team's own. */
  readonly source: "default" | "own";
  /** Provider; null for any provider. */
  readonly provider: string | null;
  /** Model. */
  readonly model: string;
  /** Start of its validity, unix milliseconds; null for all time. */
  readonly from: number | null;
  /** Rates of a call below all tiers. */
  readonly rates: Rates;
  /** Tiers by rising threshold; usually none. */
  readonly tiers: readonly RateTier[];
  /** Percentage of all rates for calls in a batch; absent for no batch rate. */
  readonly batchPercent?: number;
}

/** Steps of matching a model's name with the card, in order. */
export const MATCH_STEPS = [
  "exact",
  "provider_prefix",
  "version_suffix",
  "dots_to_dashes",
] as const;

/** One of {@link MATCH_STEPS}. */
export type MatchStep = typeof MATCH_STEPS[number];

/** Row that prices a model at an instant. The same row always yields the same object. */
export interface RateMatch {
  /** The row. */
  readonly row: RateRow;
  /** The step that found it. */
  readonly match: MatchStep;
  /** Present if the rates of the row are batch rates. */
  readonly isBatch?: true;
}

/** A team's rate card: the default card overlaid by the team's own rows. */
export interface RateCard {
  /**
   * Finds the valid row of a model.
   *
   * @param provider as named by the client; null if absent
   * @param model as named by the client
   * @param ts time of the call, unix milliseconds
   * @returns the match; null if the model has no price
   */
  find(provider: string | null, model: string, ts: number): RateMatch | null;
}

/** Token usage of a call: integers from 0 to 2^53 - 1. */
export interface CallTokens {
  /** All input tokens, including cached ones unless those are reported separately. */
  readonly inputTokens: number;
  /** Output tokens. */
  readonly outputTokens: number;
  /** Input tokens read from a cache. */
  readonly cachedInputTokens: number;
  /** Input tokens written to a cache. */
  readonly cacheWriteTokens: number;
}

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
