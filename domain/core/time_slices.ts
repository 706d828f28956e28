/**
 * Long work in time slices: a generator yields `null` wherever other work may run.
 *
 * @module
 */

/** Work in time slices, and its result. */
export type TimeSliced<T> = Generator<null, T>;

/** Runs all slices at once, for work that is short. */
export function runAllSlices<T>(work: TimeSliced<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
