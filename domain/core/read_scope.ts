/**
 * What one request reads from the store: counted as it is read, and ended when nobody waits for it.
 *
 * @module
 */

/** The reads of one request. */
export class ReadScope {
  /** Rows read so far. */
  rows = 0;
  /** Bytes of values read so far, inflated. */
  bytes = 0;
  /** Ends the reads: the client is gone, or the deadline passed. Its reason is thrown by the next read. */
  readonly signal: AbortSignal;
  /** The scope that this one counts for as well; null for the outermost. */
  readonly outer: ReadScope | null;

  /** Creates a scope in which nothing is read yet. */
  constructor(signal: AbortSignal, outer: ReadScope | null = null) {
    this.signal = signal;
    this.outer = outer;
  }

  /** Counts a read, here and in the scopes around this one. */
  count(rows: number, bytes: number): void {
    this.rows += rows;
    this.bytes += bytes;
    this.outer?.count(rows, bytes);
  }
}

/** Runs work within a scope: everything that the work reads is counted there and ends with its signal. */
export interface ReadScopes {
  /** Runs work within a scope. */
  run<T>(scope: ReadScope, work: () => T): T;
}
