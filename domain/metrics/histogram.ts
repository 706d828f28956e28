/**
 * Counts of values by size, cheap enough for every request.
 *
 * @module
 */

/** What a histogram holds at some moment. */
export interface HistogramValue {
  /** Upper bounds of the buckets, ascending; a last one without bound is not listed. */
  readonly bounds: readonly number[];
  /** How many values each bucket holds, not those below it; one more than there are bounds. */
  readonly counts: readonly number[];
  /** Sum of all values. */
  readonly sum: number;
}

/** Counts values in buckets that are fixed when it is made, so it never grows. */
export class Histogram implements HistogramValue {
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
  /** How many values each bucket holds. */
  readonly counts: number[];
  #sum = 0;

  /** An empty one with these upper bounds, ascending. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  /** Sum of all values. */
  get sum(): number {
    return this.#sum;
  }

  /** Counts a value in: in the first bucket whose bound is not below it. */
  observe(value: number): void {
    let at = 0;
    // Most values are small, so this ends early.
    while (at < this.bounds.length && value > (this.bounds[at] ?? Infinity)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.#sum += value;
  }
}

/** Bounds for the time of requests and commits, in seconds. */
export const SECONDS_BOUNDS: readonly number[] = [
  ...[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
];
