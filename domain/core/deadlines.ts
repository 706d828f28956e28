/**
 * Deadlines of one length for many pieces of work, with one timer between them.
 *
 * A timer for each request takes longer than checking the request does. Work that has the same time
 * is due in the order it began in, so it is enough to watch the oldest.
 *
 * @module
 */

/** Clock and timers of the process, handed in because the domain has none. */
export interface Timers {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Calls back after some milliseconds; answers how to forget that. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** One piece of work that is waited for. */
export interface Wait {
  /** When it is late, by the clock of the timers. */
  readonly dueMs: number;
  /** Tells whoever waits. */
  readonly expire: () => void;
}

/**
 * Bounds how long work is waited for. Whoever makes one disposes of it: its timer is left running
 * when nothing waits any more, because the next request mostly needs it again.
 */
export class Deadlines implements Disposable {
  /** Milliseconds each piece of work has. */
  readonly ms: number;
  readonly #timers: Timers;
  readonly #waits = new Set<Wait>();
  #forget: (() => void) | null = null;

  /** Deadlines of `ms` milliseconds. */
  constructor(ms: number, timers: Timers) {
    this.ms = ms;
    this.#timers = timers;
  }

  /**
   * Waits for work, or for `late` once the deadline passes first. The work goes on; what it comes to
   * is then nobody's concern.
   */
  within<T>(work: Promise<T>, late: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const expire = () => {
        try {
          resolve(late());
        } catch (error) {
          reject(error);
        }
      };
      const wait = this.watch(expire);
      work.then((value) => {
        this.done(wait);
        resolve(value);
      }, (error) => {
        this.done(wait);
        reject(error);
      });
    });
  }

  /** Calls `expire` once the deadline passes, unless the work is {@link done} before. */
  watch(expire: () => void): Wait {
    const wait: Wait = { dueMs: this.#timers.now() + this.ms, expire };
    this.#waits.add(wait);
    this.#forget ??= this.#timers.after(this.ms, () => this.#tick());
    return wait;
  }

  /** Ends the watch over a piece of work. */
  done(wait: Wait): void {
    this.#waits.delete(wait);
  }

  /** Calls back after other milliseconds, by the same timers; returns how to forget that. */
  after(ms: number, callback: () => void): () => void {
    return this.#timers.after(ms, callback);
  }

  /** Stops the timer; whatever still waits is not bounded any more. */
  [Symbol.dispose](): void {
    this.#forget?.();
    this.#forget = null;
  }

  #tick(): void {
    this.#forget = null;
    const nowMs = this.#timers.now();
    for (const wait of this.#waits) {
      if (wait.dueMs > nowMs) {
        this.#forget = this.#timers.after(wait.dueMs - nowMs, () => this.#tick());
        return;
      }
      this.#waits.delete(wait);
      wait.expire();
    }
  }
}
