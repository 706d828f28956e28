/**
 * Contract and limits of the jobs that teams start: repricing calls and deleting customers.
 *
 * @module
 */
import { refuse } from "./errors.ts";
import { printable } from "./text.ts";

/** `waiting` until every call stored before it is in the summaries, then `running`, then `done`. */
export type JobState = "waiting" | "running" | "done";

/** Job started by a team. */
export interface TeamJob {
  /** Identifier, sortable by creation time. */
  readonly id: string;
  /** Current state. */
  readonly state: JobState;
  /** Time of creation, unix milliseconds. */
  readonly createdAt: number;
  /** Identifier of the credential that started it. */
  readonly createdBy: string;
  /** Time of completion, unix milliseconds; null until then. */
  readonly finishedAt: number | null;
  /** Number of runs that could not be read and are unchanged. */
  readonly failed: number;
}

/** Result of starting a job; `replayed` returns the same job already in progress. */
export interface JobOutcome<Job extends TeamJob> {
  /** Outcome. */
  readonly kind: "stored" | "replayed";
  /** The job. */
  readonly job: Job;
}

/** Names of the jobs of each kind. */
export const JOB_NAMES = { reprice: "repricings", deletion: "customer deletions" } as const;

/** Kind of a job. */
export type JobKind = keyof typeof JOB_NAMES;

/** Maximum jobs of one kind in progress per team. */
export const ACTIVE_JOBS_MAX = 10;

/** Maximum names, each a provider and a model, that one job may search for. */
export const JOB_NAMES_MAX = 1_000;

/** Refuses a job beyond {@link ACTIVE_JOBS_MAX}. */
export function tooManyJobs(kind: JobKind): never {
  const jobs = `${ACTIVE_JOBS_MAX} ${JOB_NAMES[kind]}`;
  const message = `The team has ${jobs} under way: wait until one is done, then retry`;
  return refuse("rate_limit", message);
}

/** Refuses a job with more than {@link JOB_NAMES_MAX} names. */
export function tooManyNames(model: string): never {
  const message = `Calls to "${printable(model)}" have more than ${JOB_NAMES_MAX} providers: ` +
    'name one in "provider"';
  return refuse("invalid_field", message, "provider");
}
