/**
 * What tokens cost: rows of a rate card, and what a call to a model used.
 *
 * A rate is dollars per million tokens with at most 6 decimals, so one token costs a whole number of
 * picodollars and nothing is ever rounded (decisions, section 5).
 *
 * @module
 */

/** Picodollars for one token of each kind: $1 per million tokens is 1,000,000. */
export interface Rates {
  /** Input tokens that were neither read from a cache nor written to one. */
  readonly input: number;
  /** Output tokens. */
  readonly output: number;
  /** Input tokens read from a cache; null where the card has no rate, and then as input. */
  readonly cachedInput: number | null;
  /** Input tokens written to a cache; null where the card has no rate, and then as input. */
  readonly cacheWrite: number | null;
}

/** Rates of a whole call whose input is longer: a cliff, not a slice. */
export interface RateTier {
  /** A call with more input tokens than this pays the tier's rates for all its tokens. */
  readonly aboveInputTokens: number;
  /** What such a call pays. */
  readonly rates: Rates;
}

/** One row of a rate card. */
export interface RateRow {
  /** Names this row for ever: a changed price is a new row. */
  readonly id: string;
  /** Whether it came with the service or is the team's own. */
  readonly source: "default" | "own";
  /** Provider it is for; null prices the model whoever serves it. */
  readonly provider: string | null;
  /** Model it is for. */
  readonly model: string;
  /** From when it is in force, unix milliseconds; null from the beginning of time. */
  readonly from: number | null;
  /** Rates of a call below all tiers. */
  readonly rates: Rates;
  /** Tiers by rising threshold; mostly none. */
  readonly tiers: readonly RateTier[];
  /** Percent of all these rates that a call in a batch pays; absent where there is no batch rate. */
  readonly batchPercent?: number;
}

/** How a model's name was found on the card; the steps are tried in this order. */
export const MATCH_STEPS = [
  "exact",
  "provider_prefix",
  "version_suffix",
  "dots_to_dashes",
] as const;

/** One of {@link MATCH_STEPS}. */
export type MatchStep = typeof MATCH_STEPS[number];

/** The row that prices a model at an instant. The same object each time, for the same row. */
export interface RateMatch {
  /** The row. */
  readonly row: RateRow;
  /** The step that found it. */
  readonly match: MatchStep;
  /** Whether the rates of the row are those of a batch. */
  readonly isBatch?: true;
}

/** A team's rate card: the default card overlaid by the team's own rows. */
export interface RateCard {
  /**
   * Finds the row in force.
   *
   * @param provider as named by the client, if it was
   * @param model as named by the client
   * @param ts unix milliseconds of the call
   * @returns null when the model has no price
   */
  find(provider: string | null, model: string, ts: number): RateMatch | null;
}

/** What a call used, in tokens: integers from 0 to 2^53 - 1. */
export interface CallTokens {
  /** All input tokens, with the cached ones unless those are reported apart. */
  readonly inputTokens: number;
  /** Output tokens. */
  readonly outputTokens: number;
  /** Input tokens read from a cache. */
  readonly cachedInputTokens: number;
  /** Input tokens written to a cache. */
  readonly cacheWriteTokens: number;
}
