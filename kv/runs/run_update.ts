/**
 * The change of one run that a commit stores, and the rows that change with it.
 *
 * @module
 */
import type { SummarizedHead } from "./heads.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { RunDeletion } from "../../domain/retention/deletion.ts";
import type { Write } from "../writer/write.ts";
import type { RollupRow } from "../../domain/spend/rollup.ts";

/** What a commit does to a run. */
export interface RunUpdate {
  /** The run as it was read. */
  readonly run: SummarizedHead;
  /** What it counts for so far; null for nothing. */
  readonly before: RunSummary | null;
  /** What it counts for from now on; null for nothing. */
  readonly after: RunSummary | null;
  /**
   * What stays counted though the run goes, so that its figures can still be recomputed: by age the
   * record goes and the roll-ups stay, while a deleted run takes its share with it.
   */
  readonly remains?: RunSummary | null;
  /** The receipt of a run that is deleted, which its followers are told of. */
  readonly deletion?: RunDeletion | null;
  /** Its own rows, but for its summary. */
  readonly rows: RunRows;
}

/** Rows that change with a run. */
export interface RunRows {
  /** Versions it was read in, of what calls may write meanwhile. */
  readonly checks?: Write["checks"];
  /** Added to counters. */
  readonly sums?: Write["sums"];
  /** Set. */
  readonly sets: NonNullable<Write["sets"]>;
  /** Deleted. */
  readonly deletes: readonly Deno.KvKey[];
}

/** What is taken from sums that outlive their runs. */
export interface SumsAdjustment {
  /** The differences, one row for each group. */
  readonly rows: readonly RollupRow[];
  /** Added to counters in the same commit. */
  readonly sums: NonNullable<Write["sums"]>;
}
