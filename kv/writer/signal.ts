/**
 * The doorbell: wakes the worker when a commit leaves it something to do.
 *
 * A commit wakes the worker of its own process at once. The runtime's queue is not used: on a file one
 * process has both the commits and the worker, a shared KV has no queues, and the runtime ends the
 * process when its queue meets a full disk. The dirty set is the truth; work that another process
 * left is found within a minute.
 *
 * @module
 */

/** Rings for the worker. */
export class WorkerSignal {
  #wake: () => void = () => {};
  #rings = 0;

  /** Calls back for each ring from now on. */
  listen(wake: () => void): void {
    this.#wake = wake;
  }

  /** How often it rang, which shows whether calls come in. */
  get raised(): number {
    return this.#rings;
  }

  /** Wakes the worker: a commit with marks is on disk. */
  raise(): void {
    this.#rings++;
    this.#wake();
  }
}
