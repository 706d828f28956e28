/**
 * Accounting and cancellation of one request's reads from the store.
 *
 * @module
 */

/** Counts the reads of one request and carries the signal that cancels them. */
export class ReadScope {
  /** Rows read so far. */
  rows = 0;
  /** Bytes of values read so far, decompressed. */
  bytes = 0;
  /** Cancels the reads when the client disconnects or the deadline passes; the next read throws its reason. */
  readonly signal: AbortSignal;
  /** Enclosing scope, which counts these reads too; null for the outermost. */
  readonly outer: ReadScope | null;

  /** Creates a scope with no reads. */
  constructor(signal: AbortSignal, outer: ReadScope | null = null) {
    this.signal = signal;
    this.outer = outer;
  }

  /** Counts a read in this scope and all enclosing scopes. */
  count(rows: number, bytes: number): void {
    this.rows += rows;
    this.bytes += bytes;
    this.outer?.count(rows, bytes);
  }
}

/** Runs work within a scope, which counts all reads of the work and cancels them with its signal. */
export interface ReadScopes {
  /** Runs work within a scope. */
  run<T>(scope: ReadScope, work: () => T): T;
}
