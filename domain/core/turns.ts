/**
 * Work that is done in turns: a generator yields `null` wherever something else may go first.
 *
 * @module
 */

/** Work in turns, and what it comes to. */
export type TimeSliced<T> = Generator<null, T>;

/** Does all turns at once, for work that is short. */
export function runAllSlices<T>(work: TimeSliced<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
