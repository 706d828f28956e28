/**
 * The contribution of one run to the roll-ups of its day.
 *
 * @module
 */
import type { CallTotals, ModelUsage } from "./model_usage.ts";
import type { RunLabels } from "./run.ts";

/** Measures of a roll-up. Each is a sum over runs, so differences can be added. */
export interface Measures extends CallTotals {
  /** Number of runs. */
  readonly runs: number;
  /** Number of runs that ended in `success`. */
  readonly succeeded: number;
  /** Number of runs that ended in `failed`. */
  readonly failed: number;
  /** Number of runs that ended in `timeout`. */
  readonly timedOut: number;
  /** Number of runs that have not ended. All other runs ended in `cancelled`. */
  readonly running: number;
  /** Number of events. */
  readonly events: number;
  /** Number of calls to models without a price. */
  readonly unpricedCalls: number;
  /** Input tokens of unpriced calls. */
  readonly unpricedInputTokens: bigint;
  /** Output tokens of unpriced calls. */
  readonly unpricedOutputTokens: bigint;
  /** Cached input tokens of unpriced calls. */
  readonly unpricedCachedInputTokens: bigint;
}

/** Totals of one run. The cost may be stated by the client. */
export interface RunSums extends CallTotals, Pick<Measures, "events"> {
  /** Labels the run is grouped by. */
  readonly labels: RunLabels;
  /** Calls with tokens, by model. */
  readonly models: readonly ModelUsage[];
}

/** The contribution of one run to the roll-ups of its day. */
export interface Contribution extends RunSums {
  /** UTC day the run is counted on, `YYYY-MM-DD`. */
  readonly day: string;
}
