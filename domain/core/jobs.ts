/**
 * Bounds of the jobs that teams ask for: pricing calls again, and deleting customers.
 *
 * @module
 */
import type { Problem } from "./errors.ts";
import type { TeamId } from "./ids.ts";
import { printable } from "./text.ts";

/** `waiting` until every call stored before it is in the summaries, then `running`, then `done`. */
export type JobState = "waiting" | "running" | "done";

/** A job that a team asked for. */
export interface TeamJob {
  /** Names it, sortable by when it was asked for. */
  readonly id: string;
  /** How far it is. */
  readonly state: JobState;
  /** When it was asked for, unix milliseconds. */
  readonly createdAt: number;
  /** Identifier of the credential that asked. */
  readonly createdBy: string;
  /** When it was done, unix milliseconds. */
  readonly finishedAt: number | null;
  /** Runs that could not be read; they are as they were. */
  readonly failed: number;
}

/** Result of a request for a job. */
export type JobOutcome<Job extends TeamJob> =
  | { readonly kind: "stored" | "replayed"; readonly job: Job }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Jobs of one kind. Methods reject with `StorageUnavailable` when the store fails. */
export interface JobStore<Job extends TeamJob> {
  /** Reads a job of the team; null when it has none of that id. */
  get(team: { readonly id: TeamId }, id: string): Promise<Job | null>;
  /** Returns the job once it is done, or as it is after so many milliseconds. */
  waitUntilDone(team: { readonly id: TeamId }, job: Job, ms: number): Promise<Job>;
  /** Takes a job of the team whose turn it is a step further; returns false when none can go on. */
  work(): Promise<boolean>;
  /** Whether the last {@link work} found a job, also one that still waits. */
  readonly underWay: boolean;
}

/** Jobs of one kind that a team may have under way. */
export const ACTIVE_JOBS_MAX = 10;

/** Names, each a provider and a model, that one job may look for. */
export const JOB_NAMES_MAX = 1_000;

/** Refuses one job too many. */
export function tooManyJobs(kind: "repricings" | "customer deletions"): Problem {
  return {
    code: "rate_limit",
    message:
      `The team has ${ACTIVE_JOBS_MAX} ${kind} under way: wait until one is done, then retry`,
  };
}

/** Refuses a job over more names than one may look for. */
export function tooManyNames(model: string): Problem {
  return {
    code: "invalid_field",
    message: `Calls to "${
      printable(model)
    }" have more than ${JOB_NAMES_MAX} providers: name one in "provider"`,
    field: "provider",
  };
}
