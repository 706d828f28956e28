/**
 * Finds the longest series of equal calls, which is how an agent in a loop looks.
 *
 * @module
 */

/** Maximum calls of a cycle. */
const CYCLE_MAX = 4;

/** A cycle of calls, and its repetitions one after the other. */
export interface Repeat {
  /** Repetitions of the cycle; 0 without calls. */
  readonly times: number;
  /** Index of the first call. */
  readonly start: number;
  /** Number of calls of the cycle; 0 without calls. */
  readonly length: number;
}

/**
 * Returns the cycle of one to four calls that is repeated most; of several, the shortest, then the
 * first.
 *
 * @param calls calls in order, equal ones as the same number
 */
export function longestRepeat(calls: readonly number[]): Repeat {
  let best: Repeat = { times: 0, start: 0, length: 0 };
  for (let length = 1; length <= Math.min(CYCLE_MAX, calls.length); length++) {
    // Calls in a row that each equal the call one cycle before.
    let equal = 0;
    for (let at = length; at <= calls.length; at++) {
      const times = 1 + Math.floor(equal / length);
      if (times > best.times) best = { times, start: at - equal - length, length };
      equal = calls[at] === calls[at - length] ? equal + 1 : 0;
    }
  }
  return best;
}
