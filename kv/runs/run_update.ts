/**
 * Change of one run and of the rows that depend on it, for one commit.
 *
 * @module
 */
import type { CheckResult } from "../../domain/runs/check_result.ts";
import type { SummarizedHead } from "./heads.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { RunDeletion } from "../../domain/retention/retention.ts";
import type { Write } from "../writer/group.ts";
import type { EntryToAdd, EntryToRemove } from "../index/entries.ts";

/** A run's change within a commit. */
export interface RunUpdate {
  readonly run: SummarizedHead;
  /** Summary counted so far; null if none. */
  readonly before: RunSummary | null;
  /** Summary counted from now on; null if none. */
  readonly after: RunSummary | null;
  /**
   * Summary that stays counted after the run is removed, so that totals can be recomputed. A run
   * that expires stays in the roll-ups; a deleted run is subtracted.
   */
  readonly remains?: RunSummary | null;
  /** Receipt of a deleted run, published in the feed. */
  readonly deletion?: RunDeletion | null;
  /**
   * Results of checks that replace those of the run, by slug; null to remove them, absent to keep
   * them. The results of a run without a summary are removed.
   */
  readonly judged?: readonly CheckResult[] | null;
  /** Rows of the run without its summary. */
  readonly rows: RunRows;
}

export interface RunRows {
  /** Read versions of rows that requests may write concurrently. */
  readonly checks?: Write["checks"];
  /** Amounts to add to counters. */
  readonly sums?: Write["sums"];
  readonly sets: NonNullable<Write["sets"]>;
  readonly deletes: readonly Deno.KvKey[];
  /** Entries of orders other than the index and the feed, which follow from the summaries. */
  readonly added?: readonly EntryToAdd[];
  /** Such entries to remove. */
  readonly removed?: readonly EntryToRemove[];
}
