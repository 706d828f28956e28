/**
 * Deleting on demand: one run, or everything of a customer.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { Problem } from "../core/errors.ts";
import type { RunId } from "../core/ids.ts";

/** The receipt of a deleted run. It stands in the run's place as long as its id is refused. */
export interface RunDeletion {
  /** The run. */
  readonly run: RunId;
  /** When, unix milliseconds. */
  readonly deletedAt: number;
  /** Identifier of the credential that did it; null while a run that went by age is being removed. */
  readonly by: string | null;
  /** How many events were deleted with it; those that went by age before are not among them. */
  readonly events: number;
}

/** `waiting` until every call stored before it is summed up, then `running`, then `done`. */
export type DeletionState = "waiting" | "running" | "done";

/**
 * A job that deletes everything of a customer that was stored when it was asked for; once it is done, the
 * receipt.
 */
export interface CustomerDeletion {
  /** Names it, sortable by when it was asked for. */
  readonly id: string;
  /** The customer. */
  readonly customer: string;
  /** How it stands. */
  readonly state: DeletionState;
  /** When it was asked for, unix milliseconds. */
  readonly createdAt: number;
  /** Identifier of the credential that asked. */
  readonly createdBy: string;
  /** When it was done, unix milliseconds. */
  readonly finishedAt: number | null;
  /** Runs deleted. */
  readonly runs: number;
  /** Events deleted with them. */
  readonly events: number;
  /** Days of spend that were left of older runs, and are deleted. */
  readonly days: number;
  /** Runs that could not be read; they are as they were. */
  readonly failed: number;
}

/** What becomes of a request to delete a customer. */
export type CustomerDeletionOutcome =
  | { readonly kind: "stored" | "replayed"; readonly job: CustomerDeletion }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Deletions of all teams. Methods reject with `StorageUnavailable` when the store fails. */
export interface DeletionStore {
  /**
   * Deletes a run at once; null when the team has none of that id.
   *
   * @param by identifier of the credential that does it
   * @returns the receipt: the first one when the run was deleted before
   */
  deleteRun(
    team: Team,
    id: RunId,
    by: string,
  ): Promise<{ readonly kind: "stored" | "replayed"; readonly receipt: RunDeletion } | null>;
  /** Begins to delete all of a customer, answers the same job under way, or refuses one too many. */
  deleteCustomer(team: Team, customer: string, by: string): Promise<CustomerDeletionOutcome>;
  /** A job of the team; null when it has none of that id. */
  get(team: Team, id: string): Promise<CustomerDeletion | null>;
  /** The job once it is done, or as it is after so many milliseconds. */
  waitUntilDone(team: Team, job: CustomerDeletion, ms: number): Promise<CustomerDeletion>;
  /** Takes a job of the team whose turn it is a step further; answers false when none can go on. */
  work(): Promise<boolean>;
  /** Whether the last {@link work} found a job, also one that still waits. */
  readonly underWay: boolean;
}
