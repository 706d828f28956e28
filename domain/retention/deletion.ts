/**
 * Deleting on demand: one run, or everything of a customer.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { JobOutcome, JobStore, TeamJob } from "../core/jobs.ts";
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

/**
 * A job that deletes everything of a customer that was stored when it was asked for; once it is done, the
 * receipt.
 */
export interface CustomerDeletion extends TeamJob {
  /** The customer. */
  readonly customer: string;
  /** Runs deleted. */
  readonly runs: number;
  /** Events deleted with them. */
  readonly events: number;
  /** Days of spend that were left of older runs, and are deleted. */
  readonly days: number;
}

/** Deletions of all teams. Methods reject with `StorageUnavailable` when the store fails. */
export interface DeletionStore extends JobStore<CustomerDeletion> {
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
  /** Begins to delete all of a customer, returns the same job under way, or refuses one too many. */
  deleteCustomer(team: Team, customer: string, by: string): Promise<JobOutcome<CustomerDeletion>>;
}
