/**
 * Verifies the idle close of a run, and that the clock will look at an open run.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { idleCloseOf, idleDeadlineOf } from "../../domain/runs/idle.ts";
import type { Opening } from "../../domain/runs/run.ts";
import { keyParts, keys } from "../base/keys.ts";
import type { SummarizedHead } from "../runs/heads.ts";
import { lastTsOf } from "../runs/idle_closes.ts";
import { eachRow, type Store } from "../store.ts";
import { type Mismatch, mismatch, NONE } from "./mismatch.ts";

/** Compares the idle close of a run with its opening and events. A later deadline is allowed. */
export async function verifyIdleClose(run: SummarizedHead): Promise<readonly Mismatch[]> {
  const { id, ledger, head: { parts: { opening, closing } } } = run;
  if (closing?.closedBy !== "idle") return [];
  const what = `idle close of ${id}`;
  const deadline = idleDeadlineOf(opening, ledger);
  if (deadline === null) return [{ what, expected: NONE, found: "stored" }];
  // An absence postpones a deadline, and what is removed cannot be compared.
  const closedAt = Math.max(deadline, closing.receivedAt);
  const lastTs = ledger.removed > 0 ? closing.finishedAt : await lastTsOf(run);
  const { status, at, receivedAt } = idleCloseOf(opening as Opening, ledger, lastTs, closedAt);
  const found = { status: closing.status, at: closing.finishedAt, receivedAt: closing.receivedAt };
  return mismatch(what, { status, at, receivedAt }, found);
}

/** Returns whether a run is open and will be idle, so that the due index must have a row of it. */
export function hasIdleDeadline({ ledger, head: { parts } }: SummarizedHead): boolean {
  return parts.closing === null && idleDeadlineOf(parts.opening, ledger) !== null;
}

/** Counts the rows of runs in the due index, by team. */
export async function countIdleDeadlines(store: Store): Promise<ReadonlyMap<TeamId, number>> {
  const counts = new Map<TeamId, number>();
  for await (const { key } of eachRow(store, { prefix: keys.dueRows() })) {
    const { kind, team } = keyParts.due(key);
    if (kind === "idle") counts.set(team, (counts.get(team) ?? 0) + 1);
  }
  return counts;
}
