/**
 * The longest anybody waits for the store.
 *
 * @module
 */
import type { Deadlines, Timers } from "../../domain/core/deadlines.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";

/** The process's own clock and timers. */
export const TIMERS: Timers = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/**
 * Gives up waiting for the store after the deadline. A write may still happen; the client's retry
 * then finds it.
 *
 * @throws {StorageUnavailable} when the deadline passes first
 */
export function inTime<T>(work: Promise<T>, deadlines: Deadlines): Promise<T> {
  return deadlines.within(work, () => {
    throw new StorageUnavailable("The store did not answer in time");
  });
}
