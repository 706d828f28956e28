/**
 * Verifies a deleted run, of which only a tombstone remains.
 *
 * @module
 */
import type { RunDeletion } from "../../domain/retention/deletion.ts";
import { keys } from "../base/keys.ts";
import type { RunAt } from "../runs/heads.ts";
import { insertedKeys, tombstoneOf, tombstoneRow } from "../runs/tombstone.ts";
import { getMany, listRows } from "../store.ts";
import { type Mismatch, NONE } from "./mismatch.ts";

/**
 * Verifies a deleted run: all its tombstones are stored, its expiry entry will free the id, and no
 * other row is left; chunks are verified for all runs. A purge mark allows event rows to remain. A run
 * that expired has only the mark.
 */
export async function verifyDeleted(run: RunAt, deleted: RunDeletion): Promise<Mismatch[]> {
  const { store, team, id } = run;
  const mark = keys.purge(team, id);
  const entryKey = deleted.by === null ? mark : tombstoneRow(team, deleted);
  const wanted = [mark, entryKey, ...insertedKeys(team, id)];
  const [purgeMark, row, ...tombstones] = await getMany(store, wanted);
  const mismatches: Mismatch[] = [];
  if (!row?.versionstamp) {
    mismatches.push({ what: `index of deleted ${id}`, expected: "stored", found: NONE });
  }
  if (tombstones.some(({ value }) => tombstoneOf([value]) === null)) {
    mismatches.push({ what: `tombstone of ${id}`, expected: "complete", found: "not complete" });
  }
  const head = await listRows(store, { prefix: keys.run(team, id) });
  const isLeft = head.some(({ value }) => tombstoneOf([value]) === null) ||
    !purgeMark?.versionstamp &&
      (await listRows(store, { prefix: keys.events(team, id) }, { limit: 1 })).length > 0;
  if (isLeft) mismatches.push({ what: `rows of deleted ${id}`, expected: NONE, found: "stored" });
  return mismatches;
}
