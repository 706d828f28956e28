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
import { numbersAfter } from "../../domain/runs/summary.ts";
import { keys } from "../base/keys.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import { tombstoneRow } from "../runs/tombstone.ts";
import { encodeSums } from "../base/codec_sums.ts";
import type { Write } from "../writer/write.ts";

/** Rows of the feed, and the rows that hold its numbers. */
export interface FeedRows extends Required<Pick<Write, "sets" | "deletes">> {
  /** Number of the latest change once the rows are committed. */
  readonly lastChange: number;
}

/**
 * Builds the rows of changes. A summary is stored with its change numbers, and the tombstone of a
 * deleted run with the number of the deletion. These numbers let a later commit find the feed row
 * to delete.
 *
 * @param last number of the latest change so far
 */
export function feedRows(team: TeamId, changes: readonly RunUpdate[], last: number): FeedRows {
  const sets: { key: Deno.KvKey; value: unknown }[] = [];
  const deletes: Deno.KvKey[] = [];
  let number = last;
  for (const { run: { id }, before, after, deletion = null } of changes) {
    if (after === before && deletion === null) continue;
    if (before?.changes !== undefined) deletes.push(keys.change(team, before.changes.latest, id));
    if (after !== null) {
      const stored = { ...after, changes: numbersAfter(before, after, ++number) };
      sets.push({ key: keys.summary(team, id), value: encodeSums(stored) });
      sets.push({ key: keys.change(team, number, id), value: true });
    } else if (deletion !== null) {
      sets.push({ key: tombstoneRow(team, deletion), value: ++number });
      sets.push({ key: keys.change(team, number, id), value: deletion.deletedAt });
    }
  }
  return { sets, deletes, lastChange: number };
}

/** Returns the feed row of a deletion, from the value of its tombstone's expiry entry. */
export function deletionRows(team: TeamId, run: RunId, value: unknown): Deno.KvKey[] {
  return typeof value === "number" ? [keys.change(team, value, run)] : [];
}
