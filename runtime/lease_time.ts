/**
 * Time after which a lease of a shared bucket is late. It follows the measured times, because the
 * store may be an ocean away.
 *
 * @module
 */

/**
 * Range in milliseconds of the time after which a lease counts as late and the store as slow. A slice
 * and the lease before it last the minimum for a team at its full rate.
 */
const LATE_MS = { min: 150, max: 1_000 } as const;

/** Multiple of the mean time of leases after which one counts as late. */
const LATE_FACTOR = 3;

/** Weight of the last lease in the mean time of leases. */
const MEAN_WEIGHT = 0.2;

/** Mean time of the leases of one instance. */
export class LeaseTime {
  /** Null before the first lease. */
  #meanMs: number | null = null;

  /** Adds the time of an attempt that was stored. */
  observe(ms: number): void {
    const meanMs = this.#meanMs ?? ms;
    this.#meanMs = meanMs + MEAN_WEIGHT * (ms - meanMs);
  }

  /** Milliseconds after which a lease is late; the maximum before the first one. */
  get lateMs(): number {
    const ms = LATE_FACTOR * (this.#meanMs ?? Infinity);
    return Math.min(Math.max(ms, LATE_MS.min), LATE_MS.max);
  }
}
