/**
 * Rows that commits write for the feed of changes.
 *
 * The numbers of a team's changes increase with the version of its roll-ups, which each such commit
 * checks and sets. So they have no gaps and follow the order of the commits: a client that has read
 * up to a number never finds a new lower one.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { type ChangeNumbers, numbersAfter } from "../../domain/runs/summary.ts";
import type { EntryToAdd, EntryToRemove } from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import { tombstoneRow } from "../runs/tombstone.ts";
import type { KvSet } from "../writer/write.ts";

/** Changes of the feed by one commit. */
export interface FeedChange {
  readonly added: readonly EntryToAdd[];
  readonly removed: readonly EntryToRemove[];
  /** Tombstones of deleted runs, with the number of the deletion: it lets a later commit find it. */
  readonly sets: readonly KvSet[];
  /** Change numbers of the runs whose summary changes. */
  readonly numbers: ReadonlyMap<RunId, ChangeNumbers>;
  /** Number of the latest change once this is committed. */
  readonly lastChange: number;
}

/**
 * Numbers the changes of runs. A run's earlier entry is removed, so each run has one.
 *
 * @param judged runs whose checks were judged
 * @param last number of the latest change so far
 */
export function feedChange(
  team: TeamId,
  changes: readonly RunUpdate[],
  judged: ReadonlySet<RunId>,
  last: number,
): FeedChange {
  const order = keys.changes(team);
  const added: EntryToAdd[] = [];
  const removed: EntryToRemove[] = [];
  const sets: KvSet[] = [];
  const numbers = new Map<RunId, ChangeNumbers>();
  let number = last;
  for (const { run: { id }, before, after, deletion = null } of changes) {
    if (after === before && deletion === null) continue;
    if (before?.changes !== undefined) {
      const { changes: { latest }, blocks = [] } = before;
      removed.push({ order, at: latest, run: id, blocks });
    }
    if (after !== null) {
      numbers.set(id, numbersAfter(before, after, ++number, judged.has(id)));
      added.push({ order, at: number, run: id, value: true, mayShare: true });
    } else if (deletion !== null) {
      sets.push({ key: tombstoneRow(team, deletion), value: ++number });
      added.push({ order, at: number, run: id, value: deletion.deletedAt, mayShare: false });
    }
  }
  return { added, removed, sets, numbers, lastChange: number };
}

/** Returns the feed row of a deletion, from the value of its tombstone's expiry entry. */
export function deletionRows(team: TeamId, run: RunId, value: unknown): Deno.KvKey[] {
  return typeof value === "number" ? [keys.change(team, value, run)] : [];
}
