/**
 * The statistics and trials of checks, as their stores return them.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { PageBounds } from "../core/query.ts";
import type { CheckSettings } from "./check.ts";
import type { CheckStatus } from "../runs/check_result.ts";

/** Numbers of results by outcome. */
export type CheckCounts = Readonly<Record<CheckStatus, number>>;

/** Counts of a UTC day, of one agent or of all. */
export interface CheckDay extends CheckCounts {
  /** UTC day of the runs, `YYYY-MM-DD`. */
  readonly day: string;
  /** Agent's slug; null for all agents. */
  readonly agent: string | null;
}

/** A run that failed a check. */
export interface CheckFailure {
  /** The run. */
  readonly run: RunId;
  /** Arrival of its close, unix milliseconds. */
  readonly at: number;
  /** Values that the expression used; null once the payload is removed. */
  readonly got: string | null;
  /** The reason of the result; null once the payload is removed. */
  readonly message: string | null;
}

/** Position of a row in statistics. */
export type CheckDayPlace = Pick<CheckDay, "day"> & { readonly agent: string };

/** Days and agents per page of statistics. */
export const CHECK_DAYS_PER_PAGE = { default: 100, max: 500 } as const;

/** Days of a check's statistics to read. */
export interface CheckStatsQuery extends PageBounds<CheckDayPlace> {
  /** First UTC day, inclusive. */
  readonly fromDay: string;
  /** Last UTC day, inclusive. */
  readonly toDay: string;
}

/** Statistics of a check. */
export interface CheckStats {
  /** Counts by day and agent, in that order. */
  readonly days: readonly CheckDay[];
  /** Position after which the next page starts; null at the end. */
  readonly next: CheckDayPlace | null;
  /** Latest failures, newest first, {@link FAILURES_MAX} at most. */
  readonly failures: readonly CheckFailure[];
  /**
   * Arrival of the first failure since the last pass, unix milliseconds; null if the last result
   * that is a `pass` or a `fail` is a pass, or if there is none.
   */
  readonly failingSince: number | null;
}

/** Maximum failures in statistics. */
export const FAILURES_MAX = 20;

/** A check to try: settings, and a slug if `sample` shall apply. */
export interface CheckTrial {
  /** Settings of the check. */
  readonly settings: CheckSettings;
  /** Null for a check without a name; then each run is judged. */
  readonly slug: string | null;
  /** One run to judge; else the latest `last` closed runs that it applies to. */
  readonly runs: { readonly run: RunId } | {
    readonly last: number;
    /** Agent's slug; null for all. */
    readonly agent: string | null;
  };
}

/** Runs of a trial, milliseconds that it takes at most, and examples that it returns. */
export const TRIAL = { runs: 100, runsMax: 200, msMax: 5_000, examplesMax: 20 } as const;

/** Result of a trial, which stores nothing. */
export interface TrialResult extends CheckCounts {
  /** Number of runs judged. */
  readonly runs: number;
  /** Results of runs, those that did not pass first. */
  readonly examples: readonly {
    readonly run: RunId;
    readonly status: CheckStatus;
    readonly got: string | null;
    readonly message: string | null;
  }[];
  /** True if the time or a budget of reads ended before all runs were judged. */
  readonly isCut: boolean;
}
