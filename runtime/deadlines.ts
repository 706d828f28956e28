/**
 * Deadlines of one length for many operations, sharing one timer.
 *
 * A timer per request costs more than validating the request. Operations with the same timeout expire
 * in the order they started, so one timer for the oldest is enough.
 *
 * @module
 */

/** Clock and timers of the process, injected so that the domain stays pure. */
export interface Timers {
  /** Returns milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Calls `callback` after `ms` milliseconds; returns a function that cancels the timer. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** Monotonic clock and timers of the process. */
export const TIMERS: Timers = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits for `work`, for at most `ms` milliseconds; returns whether it ended in time. */
export async function endsWithin(
  ms: number,
  work: Promise<unknown>,
  { after }: Pick<Timers, "after"> = TIMERS,
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const cancel = after(ms, () => resolve(false));
  return await Promise.race([work.then(() => true), late]).finally(cancel);
}

/** One operation under a deadline. */
export interface Wait {
  /** Deadline in milliseconds of {@link Timers.now}. */
  readonly dueMs: number;
  /** Notifies the waiting caller that the deadline passed. */
  readonly expire: () => void;
}

/**
 * Bounds how long callers wait for work. The creator must dispose of it: the timer keeps running when
 * nothing waits, because the next request usually needs it.
 */
export class Deadlines implements Disposable {
  /** Timeout of each operation in milliseconds. */
  readonly ms: number;
  readonly #timers: Timers;
  readonly #waits = new Set<Wait>();
  #cancel: (() => void) | null = null;

  /** Creates deadlines of `ms` milliseconds. */
  constructor(ms: number, timers: Timers) {
    this.ms = ms;
    this.#timers = timers;
  }

  /**
   * Resolves with the result of `work`, or of `late` if the deadline passes first. The work continues
   * after the deadline, and its result is ignored.
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

  /** Calls `expire` when the deadline passes, unless the work is {@link done} by then. */
  watch(expire: () => void): Wait {
    const wait: Wait = { dueMs: this.#timers.now() + this.ms, expire };
    this.#waits.add(wait);
    this.#cancel ??= this.#timers.after(this.ms, () => this.#tick());
    return wait;
  }

  /** Marks an operation as completed, so that it does not expire. */
  done(wait: Wait): void {
    this.#waits.delete(wait);
  }

  /** Calls `callback` after `ms` milliseconds; returns a function that cancels the timer. */
  after(ms: number, callback: () => void): () => void {
    return this.#timers.after(ms, callback);
  }

  /** Stops the timer for good: operations have no deadline from then on. */
  [Symbol.dispose](): void {
    this.#cancel?.();
    // Work whose caller got its answer may watch again: that starts no timer.
    this.#cancel = () => {};
  }

  #tick(): void {
    this.#cancel = null;
    const nowMs = this.#timers.now();
    for (const wait of this.#waits) {
      if (wait.dueMs > nowMs) {
        this.#cancel = this.#timers.after(wait.dueMs - nowMs, () => this.#tick());
        return;
      }
      this.#waits.delete(wait);
      wait.expire();
    }
  }
}
