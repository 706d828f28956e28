/**
 * Wakes the worker and the work loop when a commit leaves them something to do.
 *
 * A commit wakes those of its own process at once, and rings the bell: a message in the runtime's
 * queue. Rows are the truth: a lost message costs time only, and without a bell both search for work
 * by themselves.
 *
 * @module
 */

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

/** Wakes a listener some milliseconds after it is rung. */
export interface Bell {
  /** Rings it, unless an earlier ring has not arrived yet. */
  ring(): void;
  /** Sets the callback of its rings. */
  listen(wake: () => void): void;
  /** Ends it; nothing rings after that. */
  close(): void;
}

/**
 * Opens a bell over a queue in memory. A queue in the ledger's file would end the process when the
 * disk is full.
 */
export async function openBell(): Promise<Bell> {
  const queue = await Deno.openKv(":memory:");
  let wake = () => {};
  let isRung = false;
  void queue.listenQueue(() => {
    isRung = false;
    wake();
  });
  return {
    ring() {
      if (isRung) return;
      isRung = true;
      queue.enqueue(null).catch(() => isRung = false);
    },
    listen: (callback) => void (wake = callback),
    close: () => queue.close(),
  };
}
