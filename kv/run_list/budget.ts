/**
 * How much one page may read: what it has not found by then is left to the next page.
 *
 * @module
 */

/** What asking for rows costs, in rows: a read takes the store as long as so many more rows of one. */
const ROWS_PER_ASKING = 25;

/** Rows of the index that take as long as the summary of a run, which lies far from others. */
const ROWS_PER_SUMMARY = 12;

/** Counts what is read. */
export class Budget {
  /** Rows read so far. */
  rows = 0;
  /** Rows that may still be read. */
  left: number;

  /**
   * Nothing is read yet.
   *
   * @param rowsMax rows that may be read; each read counts as some more
   */
  constructor(rowsMax: number) {
    this.left = rowsMax;
  }

  /** Counts a read. */
  spend(rows: number): void {
    this.rows += rows;
    this.left -= rows + ROWS_PER_ASKING;
  }

  /** Counts runs that were looked at in vain. */
  spendOnRuns(count: number): void {
    this.left -= count * ROWS_PER_SUMMARY;
  }

  /** Whether nothing more should be read. */
  get isSpent(): boolean {
    return this.left <= 0;
  }
}
