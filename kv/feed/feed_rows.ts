/**
 * What commits that change runs write for the feed of changes.
 *
 * The numbers of a team's changes go up with the version of its roll-ups, which each such commit checks
 * and sets. So they are without gaps, in the order of the commits, and whoever has read up to a number
 * will never find a lower one that is new.
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

/** Rows of the feed, and what else depends on their numbers. */
export interface FeedRows extends Required<Pick<Write, "sets" | "deletes">> {
  /** The number of the latest change once they are committed. */
  readonly lastChange: number;
}

/**
 * The rows of some changes. A summary is stored with its numbers, and the tombstone of a deleted run with
 * that of its deletion, so that whoever comes next finds the row to delete.
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

/** The row of a deletion in the feed, by the value that its tombstone is filed with. */
export function deletionRows(team: TeamId, run: RunId, filed: unknown): Deno.KvKey[] {
  return typeof filed === "number" ? [keys.change(team, filed, run)] : [];
}
