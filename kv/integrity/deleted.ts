/**
 * Verifies a deleted run, of which only a tombstone remains.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunDeletion } from "../../domain/retention/deletion.ts";
import { keys } from "../base/keys.ts";
import { insertedKeys, tombstoneOf, tombstoneRow } from "../runs/tombstone.ts";
import { getMany, listRows, type Store } from "../store.ts";
import { type Mismatch, NONE } from "./mismatch.ts";

/**
 * Verifies a deleted run: all its tombstones are stored, its expiry entry will free the id, and no
 * other row is left. A purge mark allows event rows to remain. A run that expired has only the
 * mark.
 */
export async function verifyDeleted(
  store: Store,
  team: TeamId,
  id: RunId,
  deleted: RunDeletion,
): Promise<Mismatch[]> {
  const mark = keys.purge(team, id);
  const entryKey = deleted.by === null ? mark : tombstoneRow(team, deleted);
  const [purgeMark, row, ...tombstones] = await getMany(store, [
    mark,
    entryKey,
    ...insertedKeys(team, id),
  ]);
  const mismatches: Mismatch[] = [];
  if (!row?.versionstamp) {
    mismatches.push({ what: `index of deleted ${id}`, expected: "stored", found: NONE });
  }
  if (tombstones.some(({ value }) => tombstoneOf([value]) === null)) {
    mismatches.push({ what: `tombstone of ${id}`, expected: "complete", found: "not complete" });
  }
  const isLeft = await hasRows(store, team, id, !purgeMark?.versionstamp);
  if (isLeft) mismatches.push({ what: `rows of deleted ${id}`, expected: NONE, found: "stored" });
  return mismatches;
}

/** Returns whether any row other than tombstones is stored for a run. */
async function hasRows(
  store: Store,
  team: TeamId,
  id: RunId,
  withEvents: boolean,
): Promise<boolean> {
  const head = await listRows(store, { prefix: keys.run(team, id) });
  if (head.some(({ value }) => tombstoneOf([value]) === null)) return true;
  if (!withEvents) return false;
  for (const prefix of [keys.events(team, id), keys.chunks(team, id)]) {
    if ((await listRows(store, { prefix }, { limit: 1 })).length > 0) return true;
  }
  return false;
}
