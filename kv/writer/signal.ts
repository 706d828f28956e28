/**
 * Wakes the worker when a commit leaves it work to do.
 *
 * A commit immediately wakes the worker of its own process. The runtime's queue is not used: with a
 * file, commits and worker share one process; a shared KV has no queues; and the runtime ends the
 * process when its queue meets a full disk. The pending set is the source of truth: the worker
 * finds another process's work within a minute.
 *
 * @module
 */

/** Signals the worker. */
export class WorkerSignal {
  #wake: () => void = () => {};
  #raised = 0;

  /** Sets the callback for each signal. */
  listen(wake: () => void): void {
    this.#wake = wake;
  }

  /** Number of signals; shows whether requests arrive. */
  get raised(): number {
    return this.#raised;
  }

  /** Wakes the worker after a commit with pending marks is on disk. */
  raise(): void {
    this.#raised++;
    this.#wake();
  }
}
