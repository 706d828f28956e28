/**
 * A job that prices calls anew: where it stands and what it came to so far.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { JobOutcome, JobStore, TeamJob } from "../core/jobs.ts";
import type { RunId } from "../core/ids.ts";
import { NO_CALLS, type RepriceSpec, type RepriceSum } from "./reprice.ts";
import { EMPTY_BREAKDOWN, type RepriceBreakdown } from "./breakdown.ts";

/** A run's place among those of a team: they are visited by their start. */
export interface RunPosition {
  /** Start of the run, unix milliseconds. */
  readonly startedAt: number;
  /** The run. */
  readonly run: RunId;
}

/** Runs that a job visits next, gathered over the names of its model. */
export interface RunsRemaining {
  /** The name read last; null when all are. */
  readonly name: string | null;
  /** The first of the runs found so far. */
  readonly runs: readonly RunPosition[];
  /** Whether all names are read, so that no other run comes before these. */
  readonly isComplete: boolean;
  /** Whether these are the job's last. */
  readonly isLast: boolean;
}

/** How far a job has come. */
export interface RepriceCursor {
  /** The last run that it finished; null before the first. */
  readonly after: RunPosition | null;
  /** Batches already looked at of the run after that one. */
  readonly batch: number;
  /** Whether any call of that run was meant so far. */
  readonly met: boolean;
  /** Whether any price of that run changed so far, or would. */
  readonly changed: boolean;
  /** Runs gathered in several steps, for a model of many names; null where one step gathers them. */
  readonly ahead: RunsRemaining | null;
}

/** A job. */
export interface RepriceJob extends TeamJob {
  /** Which calls. */
  readonly spec: RepriceSpec;
  /** Whether it only says what would change. */
  readonly dryRun: boolean;
  /** Start of the first and of the last run it visits, unix milliseconds; later ones are not old. */
  readonly span: { readonly from: number; readonly to: number };
  /** How far it has come. */
  readonly cursor: RepriceCursor;
  /** Runs with calls that were meant. */
  readonly runs: number;
  /** Runs whose cost changed, or would. */
  readonly changed: number;
  /** Its calls and their cost before and after. */
  readonly sum: RepriceSum;
  /** The same by agent and by day. */
  readonly shares: RepriceBreakdown;
  /** Share of the way behind it, 0 to 1. */
  readonly progress: number;
}

/** Where every job begins. */
export const FIRST_RUN: RepriceCursor = {
  after: null,
  batch: 0,
  met: false,
  changed: false,
  ahead: null,
};

/** How job ids look; any other text names no job, and may be longer than the store takes. */
const JOB_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** Whether a text can be the id of a job. */
export function isJobId(text: string): boolean {
  return JOB_ID.test(text);
}

/** A job that has done nothing yet. */
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

/** Whether a job is asked for again while it is at it. */
export function isSameJob(job: RepriceJob, spec: RepriceSpec, dryRun: boolean): boolean {
  const { model, provider, from, to } = job.spec;
  return job.state !== "done" && job.dryRun === dryRun && model === spec.model &&
    provider === spec.provider && from === spec.from && to === spec.to;
}

/** The jobs of teams. */
export interface RepriceStore extends JobStore<RepriceJob> {
  /** Makes a job, or returns the same one that is under way, or refuses one that is too much. */
  create(
    team: Team,
    spec: RepriceSpec,
    dryRun: boolean,
    by: string,
  ): Promise<JobOutcome<RepriceJob>>;
  /** The team's jobs, newest first. */
  list(team: Team): Promise<RepriceJob[]>;
}
