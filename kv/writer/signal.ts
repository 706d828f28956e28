/**
 * Wakes the worker when a commit leaves it work to do.
 *
 * A commit wakes the worker of its own process at once, and rings the bell. The pending set is the
 * source of truth: without a bell the worker looks for work each half second.
 *
 * @module
 */
import type { Bell } from "./bell.ts";

/** Signals the worker. */
export class WorkerSignal {
  /** Null where the runtime has no queue of its own in memory. */
  readonly bell: Bell | null;
  #wake: () => void = () => {};
  #raised = 0;

  /** Creates a signal that wakes nothing yet. */
  constructor(bell: Bell | null = null) {
    this.bell = bell;
  }

  /** Sets the callback for each signal. */
  listen(wake: () => void): void {
    this.#wake = wake;
    this.bell?.listen(wake);
  }

  /** Number of signals; shows whether requests arrive. */
  get raised(): number {
    return this.#raised;
  }

  /** Wakes the worker after a commit with pending marks is on disk. */
  raise(): void {
    this.#raised++;
    this.bell?.ring();
    this.#wake();
  }
}
