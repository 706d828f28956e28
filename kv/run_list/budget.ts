/**
 * Limits the rows that one page may read; the next page continues from where the budget ran out.
 *
 * @module
 */

/** Fixed cost of one read, in rows: a read takes as long as reading this many additional rows. */
const ROWS_PER_READ = 25;

/**
 * Index rows that take as long to read as one summary. Summaries are scattered across the store.
 */
const ROWS_PER_SUMMARY = 12;

/**
 * Maximum blocks of one read that count. Many blocks may share one span; reading all of them must
 * not end a page before it has any run.
 */
const BLOCKS_COUNTED_MAX = 200;

/** Counts the rows that a page has read and may still read. */
export class Budget {
  rows = 0;
  left: number;

  /** @param rowsMax rows that may be read; each read also has a fixed cost */
  constructor(rowsMax: number) {
    this.left = rowsMax;
  }

  /** Counts one read of `rows` rows, for at most `entries` entries. */
  spend(rows: number, entries: number): void {
    this.rows += rows;
    this.left -= Math.min(rows, Math.max(entries, BLOCKS_COUNTED_MAX)) + ROWS_PER_READ;
  }

  /** Counts runs that were read but did not match. */
  spendOnRuns(count: number): void {
    this.left -= count * ROWS_PER_SUMMARY;
  }

  /** True if nothing more should be read. */
  get isSpent(): boolean {
    return this.left <= 0;
  }
}
