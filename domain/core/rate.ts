/**
 * Request rates.
 *
 * @module
 */

/** Rate limit of a bucket. */
export interface Rate {
  /** Tokens refilled per second; more than 0. */
  readonly sustained: number;
  /** Capacity in tokens; at least 1. */
  readonly burst: number;
}
