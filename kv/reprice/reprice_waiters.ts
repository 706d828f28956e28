/**
 * Callers who wait for a job to be done by this process.
 *
 * @module
 */
import type { RepriceJob } from "../../domain/money/reprice_job.ts";

/** One caller's wait. Always `using`. */
export interface Waiter extends Disposable {
  /** Resolves to the job once it is done, or to null when the time is over. */
  readonly done: Promise<RepriceJob | null>;
}

/** Everybody who waits. */
export class RepriceWaiters {
  readonly #waiting = new Map<string, Set<(job: RepriceJob) => void>>();

  /** Waits for a job from now on, at most so many milliseconds. */
  waitFor(id: string, ms: number): Waiter {
    const { promise, resolve } = Promise.withResolvers<RepriceJob | null>();
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
  tell(job: RepriceJob): void {
    for (const resolve of this.#waiting.get(job.id) ?? []) resolve(job);
  }
}
