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
 * Maximum cost of the reads behind one step, in rows. Many blocks may share the span of one second;
 * reading all of them must not end a page before it has any run.
 */
const ROWS_PER_STEP_MAX = 500;

/** Counts the rows that a page has read and may still read. */
export class Budget {
  rows = 0;
  left: number;

  /** @param rowsMax rows that may be read; each read also has a fixed cost */
  constructor(rowsMax: number) {
    this.left = rowsMax;
  }

  /** Counts a step of some reads. */
  spend({ rows, reads }: { readonly rows: number; readonly reads: number }): void {
    this.rows += rows;
    this.left -= Math.min(rows + reads * ROWS_PER_READ, ROWS_PER_STEP_MAX);
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
