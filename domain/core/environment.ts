/**
 * The clock and the random numbers of the process, passed to pure code.
 *
 * @module
 */

/** The time and the randomness of the process. */
export interface Environment {
  /** Unix milliseconds. */
  now(): number;
  /** Fresh random bytes. */
  random(bytes: number): Uint8Array;
}
