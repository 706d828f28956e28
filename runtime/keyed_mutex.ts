/**
 * Locks by name: work for one name runs one at a time, in order.
 *
 * The locks prevent conflicts between writers of one key in this process. Commits still carry
 * checks: another process may write the same key.
 *
 * @module
 */
import type { Deadlines, Wait } from "./deadlines.ts";
import { Overloaded, StorageUnavailable } from "../domain/core/errors.ts";

/**
 * Maximum number of waiting tasks per name and across all names; bounded because each waiter keeps
 * its request in memory.
 */
const WAITING = { name: 64, all: 1_024 };

/**
 * Waiting tasks where many may arrive at one moment: requests with new agents after a start, and pings
 * of one agent's jobs that end together.
 */
export const BURST = { name: 1_024, all: 4_096 } as const;

/** A task waiting for its name. */
interface Waiter {
  readonly begin: () => void;
  wait: Wait | undefined;
}

/** Runs tasks for one name sequentially; different names do not wait for each other. */
export class KeyedMutex {
  readonly #deadlines: Deadlines | undefined;
  readonly #limits: typeof WAITING;
  /** Waiters by name; a name in the map is locked. */
  readonly #waiters = new Map<string, Waiter[]>();
  #waiting = 0;

  /** Creates free locks. Without deadlines, tasks wait without a limit. */
  constructor(deadlines?: Deadlines, limits = WAITING) {
    this.#deadlines = deadlines;
    this.#limits = limits;
  }

  /**
   * Runs `work` after all earlier work for this name has settled.
   *
   * @throws {Overloaded} when too many tasks wait
   * @throws {StorageUnavailable} when the deadline passes while waiting; `work` then never starts
   */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const waiters = this.#waiters.get(name);
    if (waiters === undefined) this.#waiters.set(name, []);
    else await this.#waitIn(waiters);
    try {
      return await work();
    } finally {
      this.#pass(name);
    }
  }

  /** Runs `work` while holding the locks of all names. */
  takeAll<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    // All callers lock in the same order, so no two can deadlock.
    const inOrder = [...new Set(names)].sort();
    const take = (inner: () => Promise<T>, name: string) => () => this.take(name, inner);
    return inOrder.reduceRight(take, work)();
  }

  #waitIn(waiters: Waiter[]): Promise<void> {
    if (waiters.length >= this.#limits.name || this.#waiting >= this.#limits.all) {
      throw new Overloaded("Too many requests are waiting for the same run or team");
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { begin: resolve, wait: undefined };
    waiter.wait = this.#deadlines?.watch(() => {
      waiters.splice(waiters.indexOf(waiter), 1);
      this.#waiting--;
      reject(new StorageUnavailable("The store did not answer in time"));
    });
    waiters.push(waiter);
    this.#waiting++;
    return promise;
  }

  /** Passes the lock to the longest waiter. */
  #pass(name: string): void {
    const next = this.#waiters.get(name)?.shift();
    if (next === undefined) {
      this.#waiters.delete(name);
      return;
    }
    this.#waiting--;
    if (next.wait !== undefined) this.#deadlines?.done(next.wait);
    next.begin();
  }
}
