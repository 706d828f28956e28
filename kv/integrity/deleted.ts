/**
 * The audit of a run that is gone, of which a tombstone is left.
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
 * Where a deleted run is not as it has to be: each call of it is refused, it is filed so that its id is
 * free again one day, and nothing else of it is left. Of one with many events a mark says that they are
 * on their way out; one that goes by age has that alone.
 */
export async function verifyDeleted(
  store: Store,
  team: TeamId,
  id: RunId,
  deleted: RunDeletion,
): Promise<Mismatch[]> {
  const mark = keys.purge(team, id);
  const filed = deleted.by === null ? mark : tombstoneRow(team, deleted);
  const [marked, row, ...stones] = await getMany(store, [mark, filed, ...insertedKeys(team, id)]);
  const mismatches: Mismatch[] = [];
  if (!row?.versionstamp) {
    mismatches.push({ what: `index of deleted ${id}`, expected: "stored", found: NONE });
  }
  if (stones.some(({ value }) => tombstoneOf([value]) === null)) {
    mismatches.push({ what: `tombstone of ${id}`, expected: "complete", found: "not complete" });
  }
  const isLeft = await hasRows(store, team, id, !marked?.versionstamp);
  if (isLeft) mismatches.push({ what: `rows of deleted ${id}`, expected: NONE, found: "stored" });
  return mismatches;
}

/** Whether anything but tombstones is stored of a run. */
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
