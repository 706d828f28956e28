/**
 * Rows of check results and of their statistics.
 *
 * @module
 */

/** Counts of the results of a check: passes, failures, errors and skipped ones. */
export type CountsRow = readonly [pass: number, fail: number, error: number, skipped: number];

/**
 * Counts of a UTC day by the identifier of the check, of one agent or of all. Checks that were deleted
 * are left out when the row is written again, and ignored by reads.
 */
export interface DayRow {
  readonly counts: Readonly<Record<string, CountsRow>>;
  /**
   * Arrivals of the latest runs that passed, at most {@link PASSES_MAX} of each check, in order; only
   * in the row of all agents.
   */
  readonly passes?: Readonly<Record<string, readonly number[]>>;
}

/** Arrivals of passes that a day keeps, so that the removal of some leaves the latest one known. */
export const PASSES_MAX = 4;
