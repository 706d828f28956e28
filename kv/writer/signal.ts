/**
 * Wakes the worker and the work loop when a commit leaves them something to do.
 *
 * A commit wakes those of its own process at once, and rings the bell. Rows are the truth: without a
 * bell both look for work by themselves.
 *
 * @module
 */
import type { Bell } from "./bell.ts";

/** Callbacks of a signal. */
export interface Wakes {
  /** Called after a commit with pending marks. */
  readonly worker?: () => void;
  /** Called after a commit that filed work that may be due. */
  readonly work?: () => void;
}

/** Signals the worker and the work loop. */
export class WorkerSignal {
  /** Null where the runtime has no queue of its own in memory. */
  readonly bell: Bell | null;
  #wakes: Wakes = {};
  #raised = 0;

  /** Creates a signal that wakes nothing yet. */
  constructor(bell: Bell | null = null) {
    this.bell = bell;
  }

  /** Sets the callbacks; a ring of the bell calls both. */
  listen(wakes: Wakes): void {
    this.#wakes = wakes;
    this.bell?.listen(() => {
      wakes.worker?.();
      wakes.work?.();
    });
  }

  /** Number of commits with pending marks of calls; shows whether calls arrive. */
  get raised(): number {
    return this.#raised;
  }

  /**
   * Wakes the worker after a commit with pending marks is on disk.
   *
   * @param isCall false if all marks are of background work
   */
  raise(isCall = true): void {
    if (isCall) this.#raised++;
    this.bell?.ring();
    this.#wakes.worker?.();
  }

  /** Wakes the work loop after a commit with rows of the work queue is on disk. */
  raiseWork(): void {
    this.bell?.ring();
    this.#wakes.work?.();
  }
}
