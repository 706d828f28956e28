/**
 * Metrics of the writer.
 *
 * @module
 */
import { Histogram, type HistogramValue, SECONDS_BOUNDS } from "../../domain/metrics/histogram.ts";

/** Bucket bounds for writes per commit; the limit of 100 checks caps most commits. */
const WRITES_BOUNDS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200];

/** Outcome of a commit: `lost` is a conflict with another write; `failed` is unknown. */
export type CommitEnd = "stored" | "lost" | "failed";

/** Metrics of one writer. */
export interface WriterMetrics {
  /** Commits by outcome. */
  readonly commits: Readonly<Record<CommitEnd, number>>;
  /** Writes per commit. */
  readonly writes: HistogramValue;
  /** Seconds per commit, including the sync to disk. */
  readonly seconds: HistogramValue;
}

/** Counts commits. */
export class WriterCounts implements WriterMetrics {
  readonly commits: Record<CommitEnd, number> = { stored: 0, lost: 0, failed: 0 };
  readonly writes: Histogram = new Histogram(WRITES_BOUNDS);
  readonly seconds: Histogram = new Histogram(SECONDS_BOUNDS);

  /**
   * Runs a commit and counts it before the outcome is returned.
   *
   * @param writes number of writes in the commit
   */
  async counted<Result extends { readonly ok: boolean }>(
    writes: number,
    commit: () => Promise<Result>,
  ): Promise<Result> {
    const startMs = performance.now();
    let end: CommitEnd = "failed";
    try {
      const result = await commit();
      end = result.ok ? "stored" : "lost";
      return result;
    } finally {
      this.commits[end]++;
      this.writes.observe(writes);
      this.seconds.observe((performance.now() - startMs) / 1_000);
    }
  }
}
