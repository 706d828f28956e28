/**
 * The clock and random source of the process, injected into pure code.
 *
 * @module
 */

/** Clock and random source of the process. */
export interface Environment {
  /** Returns the current time in unix milliseconds. */
  now(): number;
  /** Returns fresh random bytes. */
  random(bytes: number): Uint8Array;
}
