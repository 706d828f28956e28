/**
 * Plans the retention of one run: removes expired data and schedules the next check.
 *
 * An expiry entry says only when to check. What expires follows from the current run, so a stale
 * entry is harmless.
 *
 * @module
 */
import {
  cutoffOf,
  type DaysOfPlan,
  dueOf,
  expiryEntryOf,
} from "../../domain/retention/retention.ts";
import { EMPTY_SWEEP, type SweepCounts } from "../../domain/retention/sweep.ts";
import type { EntryToRemove } from "../index/entries.ts";
import type { RunRows, RunUpdate } from "../runs/run_update.ts";
import { isStored, type SummarizedHead } from "../runs/heads.ts";
import { removePayload } from "./payload.ts";
import { expireRun, moveExpiryEntry } from "./removal.ts";
import { Overloaded, StorageUnavailable } from "../../domain/core/errors.ts";
import type { RunId } from "../../domain/core/ids.ts";

/** Retention, time and row limit of a check. */
export interface ExpiryContext {
  readonly plan: DaysOfPlan;
  readonly nowMs: number;
  /** Payload rows of one run to remove; the next check removes the rest. */
  readonly rowsMax: number;
}

/**
 * Plans which data of a run expires now.
 *
 * @param found expiry entries under which the run was found; they are removed
 */
export async function planExpiry(
  run: SummarizedHead,
  context: ExpiryContext,
  found: readonly EntryToRemove[],
): Promise<{ readonly change: RunUpdate; readonly counts: SweepCounts }> {
  const { change: { rows, ...change }, counts } = await changeOf(run, context);
  const removed = [...rows.removed ?? [], ...found];
  return { change: { ...change, rows: { ...rows, removed } }, counts };
}

async function changeOf(
  run: SummarizedHead,
  { plan, nowMs, rowsMax }: ExpiryContext,
): ReturnType<typeof planExpiry> {
  const { head, ledger, summary } = run;
  const unchanged = (entries: Partial<RunRows>) => {
    const rows = { sets: [], deletes: [], ...entries };
    return { change: { run, before: summary, after: summary, rows }, counts: EMPTY_SWEEP };
  };
  if (!isStored(head)) return unchanged({});
  const entry = expiryEntryOf(head.parts, ledger);
  switch (dueOf(head.parts, ledger, plan, nowMs)) {
    case null:
      return unchanged(moveExpiryEntry(run, entry));
    case "record": {
      const { change, events } = await expireRun(run, nowMs);
      const counter = entry.retentionClass === "orphan" ? "orphans" : "records";
      return { change, counts: { ...EMPTY_SWEEP, events, [counter]: 1 } };
    }
    case "payload": {
      const beforeMs = cutoffOf(plan, entry.retentionClass, nowMs);
      const { change, events, isAll } = await removePayload(run, beforeMs, rowsMax);
      // A run with very many events takes several checks: it is counted at the last one.
      return { change, counts: { ...EMPTY_SWEEP, payloads: isAll ? 1 : 0, events } };
    }
  }
}

/**
 * Processes runs together. If that fails, processes each alone, so that only faulty runs are
 * skipped.
 *
 * @returns the number of skipped runs
 * @throws {StorageUnavailable} when the store failed: then no run is at fault
 * @throws {Overloaded} when the queue is full: then no run is at fault
 */
export async function leaveFaulty<Value>(
  runs: ReadonlyMap<RunId, Value>,
  work: (group: ReadonlyMap<RunId, Value>) => Promise<void>,
): Promise<number> {
  try {
    await work(runs);
    return 0;
  } catch (error) {
    if (error instanceof StorageUnavailable || error instanceof Overloaded) throw error;
    if (runs.size === 1) return 1;
    let failed = 0;
    for (const entry of runs) failed += await leaveFaulty(new Map([entry]), work);
    return failed;
  }
}
