/**
 * What one run adds to the roll-ups of its day.
 *
 * @module
 */
import type { Picodollars } from "../pricing/money.ts";
import type { RunStatus } from "./run.ts";
import type { ModelUsage } from "./model_usage.ts";

/** Sums of a roll-up. All are sums over runs, so that differences add up. */
export interface Measures {
  /** Runs. */
  readonly runs: number;
  /** Runs that ended in `success`. */
  readonly succeeded: number;
  /** Runs that ended in `failed`. */
  readonly failed: number;
  /** Runs that ended in `timeout`. */
  readonly timedOut: number;
  /** Runs that have not ended. All others ended in `cancelled`. */
  readonly running: number;
  /** Events. */
  readonly events: number;
  /** Model calls. */
  readonly calls: number;
  /** Input tokens. */
  readonly inputTokens: bigint;
  /** Output tokens. */
  readonly outputTokens: bigint;
  /** Cached input tokens. */
  readonly cachedInputTokens: bigint;
  /** Cost. */
  readonly cost: Picodollars;
  /** Of the calls, those to models without a price. */
  readonly unpricedCalls: number;
  /** Their input tokens. */
  readonly unpricedInputTokens: bigint;
  /** Their output tokens. */
  readonly unpricedOutputTokens: bigint;
  /** Their cached input tokens. */
  readonly unpricedCachedInputTokens: bigint;
}

/** What a run is grouped by. A null agent, customer or feature is `(unattributed)`. */
export interface RunLabels {
  /** Agent's slug; null until the opening arrives. */
  readonly agent: string | null;
  /** Whom the cost is attributed to. */
  readonly customer: string | null;
  /** What the run was for. */
  readonly feature: string | null;
  /** How it stands. */
  readonly status: RunStatus;
}

/** A model as its calls named it. */
export interface ModelName {
  /** Provider, if named. */
  readonly provider: string | null;
  /** Model. */
  readonly model: string;
}

/** A run's own sums, of which the cost may be stated. */
export interface RunSums extends
  Pick<
    Measures,
    "events" | "calls" | "inputTokens" | "outputTokens" | "cachedInputTokens" | "cost"
  > {
  /** What it is grouped by. */
  readonly labels: RunLabels;
  /** Its calls with tokens, by model. */
  readonly models: readonly ModelUsage[];
}

/** What one run adds to the roll-ups of its day. */
export interface Contribution extends RunSums {
  /** UTC day that it is sorted by, `YYYY-MM-DD`. */
  readonly day: string;
}
