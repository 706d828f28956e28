/**
 * Deletion on demand: one run, or all data of a customer.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { JobOutcome, JobStore, TeamJob } from "../core/jobs.ts";
import type { RunId } from "../core/ids.ts";

/** Receipt of a deleted run. It replaces the run for as long as the run's id is refused. */
export interface RunDeletion {
  /** The run. */
  readonly run: RunId;
  /** Time of the deletion, unix milliseconds. */
  readonly deletedAt: number;
  /** Identifier of the deleting credential; null while an expired run is being removed. */
  readonly by: string | null;
  /** Number of events deleted with the run, not counting events that had expired before. */
  readonly events: number;
}

/**
 * Job that deletes all data of a customer stored before the job was created. After it is done, it is
 * the receipt.
 */
export interface CustomerDeletion extends TeamJob {
  /** The customer. */
  readonly customer: string;
  /** Number of runs deleted. */
  readonly runs: number;
  /** Number of events deleted with them. */
  readonly events: number;
  /** Number of days whose spend was deleted; it remained after their runs expired. */
  readonly days: number;
}

/** Store of deletions. Methods reject with `StorageUnavailable` when the store fails. */
export interface DeletionStore extends JobStore<CustomerDeletion> {
  /**
   * Deletes a run immediately; null if the team has none with this id.
   *
   * @param by identifier of the calling credential
   * @returns the receipt; the original one if the run was deleted before
   */
  deleteRun(
    team: Team,
    id: RunId,
    by: string,
  ): Promise<{ readonly kind: "stored" | "replayed"; readonly receipt: RunDeletion } | null>;
  /** Starts deleting a customer, or returns the same job in progress, or refuses a job beyond the limit. */
  deleteCustomer(team: Team, customer: string, by: string): Promise<JobOutcome<CustomerDeletion>>;
}
