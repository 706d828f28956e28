/**
 * What the writer did, counted as it goes.
 *
 * @module
 */
import { Histogram, type HistogramValue, SECONDS_BOUNDS } from "../../domain/metrics/histogram.ts";

/** Bounds for the number of writes in one commit; a hundred checks is the most that most fit into. */
const WRITES_BOUNDS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200];

/** How a commit ended: `lost` found a checked key changed, of `failed` nobody knows. */
export type CommitEnd = "stored" | "lost" | "failed";

/** Figures of one writer. */
export interface WriterMetrics {
  /** Commits by how they ended. */
  readonly commits: Readonly<Record<CommitEnd, number>>;
  /** Writes in each commit. */
  readonly writes: HistogramValue;
  /** Seconds each commit took, its time on the disk included. */
  readonly seconds: HistogramValue;
}

/** Counts commits. */
export class WriterCounts implements WriterMetrics {
  /** Commits by how they ended. */
  readonly commits: Record<CommitEnd, number> = { stored: 0, lost: 0, failed: 0 };
  /** Writes in each commit. */
  readonly writes: Histogram = new Histogram(WRITES_BOUNDS);
  /** Seconds each commit took. */
  readonly seconds: Histogram = new Histogram(SECONDS_BOUNDS);

  /**
   * Carries out a commit and counts it, before anybody is told how it ended.
   *
   * @param writes how many writes are in it
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
