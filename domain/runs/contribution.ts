/**
 * The contribution of one run to the roll-ups of its day.
 *
 * @module
 */
import type { CallTotals, ModelName, ModelUsage } from "./model_usage.ts";
import type { RunLabels } from "./run.ts";

/** Measures that are all 0, the start of every accumulation. */
export const EMPTY_MEASURES = {
  /** Number of runs. */
  runs: 0,
  /** Number of runs that ended in `success`. */
  succeeded: 0,
  /** Number of runs that ended in `failed`. */
  failed: 0,
  /** Number of runs that ended in `timeout`. */
  timedOut: 0,
  /** Number of runs that have not ended. All other runs ended in `cancelled`. */
  running: 0,
  /** Number of events. */
  events: 0,
  /** Number of model calls. */
  calls: 0,
  /** Input tokens. */
  inputTokens: 0n,
  /** Output tokens. */
  outputTokens: 0n,
  /** Cached input tokens. */
  cachedInputTokens: 0n,
  /** Cost in picodollars. */
  cost: 0n,
  /** Number of calls to models without a price. */
  unpricedCalls: 0,
  /** Input tokens of unpriced calls. */
  unpricedInputTokens: 0n,
  /** Output tokens of unpriced calls. */
  unpricedOutputTokens: 0n,
  /** Cached input tokens of unpriced calls. */
  unpricedCachedInputTokens: 0n,
  /** Number of calls that name a model and have no token counts. */
  uncountedCalls: 0,
};

/** Measures of a roll-up. Each is a sum over runs, so differences can be added. */
export type Measures = Readonly<typeof EMPTY_MEASURES>;

/** Totals of one run. The cost may be stated by the client. */
export interface RunSums extends CallTotals, Pick<Measures, "events"> {
  /** Labels the run is grouped by. */
  readonly labels: RunLabels;
  /** Calls by model. */
  readonly models: readonly ModelUsage[];
  /** Name of the line with the call that a heartbeat reports, which is no event; absent for none. */
  readonly reported?: ModelName | undefined;
}

/** The contribution of one run to the roll-ups of its day. */
export interface Contribution extends RunSums {
  /** UTC day the run is counted on, `YYYY-MM-DD`. */
  readonly day: string;
}
