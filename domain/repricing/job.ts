/**
 * Repricing jobs: progress, totals and store contract.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { JobOutcome, JobStore, TeamJob } from "../core/jobs.ts";
import type { RunId } from "../core/ids.ts";
import { NO_CALLS, type RepriceSpec, type RepriceSum } from "./reprice.ts";
import { EMPTY_BREAKDOWN, type RepriceBreakdown } from "./breakdown.ts";

/** Position of a run among a team's runs, which a job visits by start time. */
export interface RepricePosition {
  /** Start of the run, unix milliseconds. */
  readonly startedAt: number;
  /** The run. */
  readonly run: RunId;
}

/** Next runs of a job, collected over all names of its model. */
export interface RunsRemaining {
  /** Last name read; null when all names are read. */
  readonly name: string | null;
  /** First runs among those found so far. */
  readonly runs: readonly RepricePosition[];
  /** True when all names are read, so that no other run precedes these. */
  readonly isComplete: boolean;
  /** True if these are the last runs of the job. */
  readonly isLast: boolean;
}

/** Position of a job. */
export interface RepriceCursor {
  /** Last run completed; null before the first. */
  readonly after: RepricePosition | null;
  /** Number of batches already checked of the following run. */
  readonly batch: number;
  /** True if any call of that run matched the spec so far. */
  readonly met: boolean;
  /** True if any price of that run changed so far, or would in a dry run. */
  readonly changed: boolean;
  /** Runs collected in several steps, for a model with many names; null if one step collects them. */
  readonly ahead: RunsRemaining | null;
}

/** Repricing job. */
export interface RepriceJob extends TeamJob {
  /** Calls to reprice. */
  readonly spec: RepriceSpec;
  /** True if it reports the changes without making them. */
  readonly dryRun: boolean;
  /** Start times of the first and last run to visit, unix milliseconds; later runs have the new price. */
  readonly span: { readonly from: number; readonly to: number };
  /** Position of the job. */
  readonly cursor: RepriceCursor;
  /** Number of runs with matching calls. */
  readonly runs: number;
  /** Number of runs whose cost changed, or would in a dry run. */
  readonly changed: number;
  /** Number of matching calls with their cost before and after. */
  readonly sum: RepriceSum;
  /** Breakdown by agent and by day. */
  readonly shares: RepriceBreakdown;
  /** Completed fraction, 0 to 1. */
  readonly progress: number;
}

/** Position of a new job. */
export const FIRST_RUN: RepriceCursor = {
  after: null,
  batch: 0,
  met: false,
  changed: false,
  ahead: null,
};

/** Format of job ids. Any other text cannot be a job, and may be too long for a storage key. */
const JOB_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** Returns whether a text has the format of a job id. */
export function isJobId(text: string): boolean {
  return JOB_ID.test(text);
}

/** Creates a job in state `waiting`. */
export function newJob(
  id: string,
  spec: RepriceSpec,
  dryRun: boolean,
  createdBy: string,
  nowMs: number,
): RepriceJob {
  return {
    id,
    spec,
    dryRun,
    state: "waiting",
    createdAt: nowMs,
    createdBy,
    finishedAt: null,
    span: { from: nowMs, to: nowMs },
    cursor: FIRST_RUN,
    runs: 0,
    changed: 0,
    failed: 0,
    sum: NO_CALLS,
    shares: EMPTY_BREAKDOWN,
    progress: 0,
  };
}

/** Returns whether a request repeats a job in progress. */
export function isSameJob(job: RepriceJob, spec: RepriceSpec, dryRun: boolean): boolean {
  const { model, provider, from, to } = job.spec;
  return job.state !== "done" && job.dryRun === dryRun && model === spec.model &&
    provider === spec.provider && from === spec.from && to === spec.to;
}

/** Store of repricing jobs. */
export interface RepriceStore extends JobStore<RepriceJob> {
  /** Creates a job, or returns the same one in progress, or refuses a job beyond the limit. */
  create(
    team: Team,
    spec: RepriceSpec,
    dryRun: boolean,
    by: string,
  ): Promise<JobOutcome<RepriceJob>>;
  /** Lists the team's jobs, newest first. */
  list(team: Team): Promise<RepriceJob[]>;
}
