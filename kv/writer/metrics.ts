/**
 * Metrics of the writer.
 *
 * @module
 */
import { Histogram, SECONDS_BOUNDS } from "../../runtime/metric_text.ts";

/** Bucket bounds for writes per commit; the limit of 100 checks caps most commits. */
const WRITES_BOUNDS: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200];

/** Metrics of one writer. */
export class WriterMetrics {
  /** Commits by outcome: `lost` is a conflict with another write; `failed` is unknown. */
  readonly commits = { stored: 0, lost: 0, failed: 0 };
  /** True if the latest commit failed, or has not ended in time. */
  isFailing = false;
  /** Writes per commit. */
  readonly writes: Histogram = new Histogram(WRITES_BOUNDS);
  /** Seconds per commit, including the sync to disk. */
  readonly seconds: Histogram = new Histogram(SECONDS_BOUNDS);

  /**
   * Runs a commit and counts it before the outcome is returned.
   *
   * @param writes number of writes in the commit
   * @param commit returns the new version, or null on a conflict
   */
  async counted(
    writes: number,
    commit: () => Promise<string | null>,
  ): Promise<string | null> {
    const startMs = performance.now();
    let end: keyof typeof this.commits = "failed";
    try {
      const version = await commit();
      end = version === null ? "lost" : "stored";
      return version;
    } finally {
      this.commits[end]++;
      this.isFailing = end === "failed";
      this.writes.observe(writes);
      this.seconds.observe((performance.now() - startMs) / 1_000);
    }
  }
}
