/**
 * Callers who wait for a job to be done by this process.
 *
 * @module
 */

/** One caller's wait. Always `using`. */
export interface Waiter<Job> extends Disposable {
  /** Resolves to the job once it is done, or to null when the time is over. */
  readonly done: Promise<Job | null>;
}

/** Everybody who waits for a job of one kind. */
export class JobWaiters<Job extends { readonly id: string }> {
  readonly #waiting = new Map<string, Set<(job: Job) => void>>();

  /** Waits for a job from now on, at most so many milliseconds. */
  waitFor(id: string, ms: number): Waiter<Job> {
    const { promise, resolve } = Promise.withResolvers<Job | null>();
    const timer = setTimeout(resolve, ms, null);
    const all = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, all.add(resolve));
    return {
      done: promise,
      [Symbol.dispose]: () => {
        clearTimeout(timer);
        all.delete(resolve);
        if (all.size === 0) this.#waiting.delete(id);
      },
    };
  }

  /** Tells that a job is done. */
  tell(job: Job): void {
    for (const resolve of this.#waiting.get(job.id) ?? []) resolve(job);
  }
}
