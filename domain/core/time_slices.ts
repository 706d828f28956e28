/**
 * Cooperative time slices for long work: a generator yields `null` wherever the event loop may run
 * other work.
 *
 * @module
 */

/** Work split into time slices; returns its result. */
export type TimeSliced<T> = Generator<null, T>;

/** Runs all slices without a pause, for short work. */
export function runAllSlices<T>(work: TimeSliced<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
