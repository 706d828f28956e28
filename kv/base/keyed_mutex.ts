/**
 * Locks by name: of the work for one name one piece runs at a time, in order.
 *
 * They spare writers of one key inside this process from losing their checks to each other. The checks
 * stay: another process may write the same key.
 *
 * @module
 */
import type { Deadlines, Wait } from "../../domain/core/deadlines.ts";
import { Overloaded, StorageUnavailable } from "../../domain/core/errors.ts";

/** How many pieces of work may wait. */
export interface WaitingLimits {
  /** For one name. */
  readonly name: number;
  /** For all names together. */
  readonly all: number;
}

/** What waits holds its request in memory. */
const WAITING: WaitingLimits = { name: 64, all: 1_024 };

/** Work that waits for its name. */
interface Waiter {
  /** Begins it. */
  readonly begin: () => void;
  /** Its deadline. */
  wait: Wait | undefined;
}

/** Runs work for one name after the other; different names do not wait for each other. */
export class KeyedMutex {
  readonly #deadlines: Deadlines | undefined;
  readonly #limits: WaitingLimits;
  /** What waits, by name; a name that is there is held. */
  readonly #waiters = new Map<string, Waiter[]>();
  #waiting = 0;

  /** Creates locks that are all free. Without deadlines work waits as long as it takes. */
  constructor(deadlines?: Deadlines, limits = WAITING) {
    this.#deadlines = deadlines;
    this.#limits = limits;
  }

  /**
   * Runs `work` once everything for this name that came before has settled.
   *
   * @throws {Overloaded} when too much waits
   * @throws {StorageUnavailable} when the deadline passes while it waits; the work is never begun then
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

  /** Runs `work` while it holds all these names. */
  takeAll<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    // All callers take them in one order, so that no two wait for each other.
    const inOrder = [...new Set(names)].sort();
    const take = (inner: () => Promise<T>, name: string) => () => this.take(name, inner);
    return inOrder.reduceRight(take, work)();
  }

  #waitIn(waiters: Waiter[]): Promise<void> {
    if (waiters.length >= this.#limits.name || this.#waiting >= this.#limits.all) {
      throw new Overloaded("Too many calls wait for the same run or team");
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

  /** Hands a name on to what waits longest. */
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
