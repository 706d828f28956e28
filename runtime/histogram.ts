/**
 * Histograms cheap enough to update on every request.
 *
 * @module
 */

/** Current content of a histogram. */
export interface HistogramValue {
  /** Upper bounds of the buckets, ascending; the last, unbounded bucket is not listed. */
  readonly bounds: readonly number[];
  /** Number of values in each bucket, not cumulative; one more entry than there are bounds. */
  readonly counts: readonly number[];
  /** Total of all values. */
  readonly sum: number;
}

/** Counts values in buckets fixed at creation, so its size is constant. */
export class Histogram implements HistogramValue {
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
  /** Number of values in each bucket. */
  readonly counts: number[];
  #sum = 0;

  /** Creates an empty histogram with these upper bounds, ascending. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  /** Total of all values. */
  get sum(): number {
    return this.#sum;
  }

  /** Adds a value to the first bucket whose bound is not below it. */
  observe(value: number): void {
    let at = 0;
    // Most values are small, so the loop ends early.
    while (at < this.bounds.length && value > (this.bounds[at] ?? Infinity)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.#sum += value;
  }
}

/** Bounds for durations of requests and commits, in seconds. */
export const SECONDS_BOUNDS: readonly number[] = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
];
