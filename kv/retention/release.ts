/**
 * Releases the ids of runs that were deleted long ago.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { CustomerDeletion } from "../../domain/retention/deletion.ts";
import { keys } from "../base/keys.ts";
import { insertedKeys, tombstoneOf } from "../runs/tombstone.ts";
import { getEntry, getMany, listRows, type Store } from "../store.ts";
import { purge } from "./purge.ts";

/** Receipts checked in one night, oldest first. */
const RECEIPTS_AT_ONCE = 300;

/**
 * Deletes the tombstones of runs; returns how many.
 *
 * @param due the expiry entries of each run
 */
export async function releaseIds(
  store: Store,
  team: TeamId,
  due: ReadonlyMap<RunId, readonly Deno.KvKey[]>,
): Promise<number> {
  const ends = await Promise.allSettled(
    Array.from(due, ([run, rows]) => release(store, team, run, rows)),
  );
  let released = 0;
  for (const end of ends) {
    // All releases have ended even if one fails: the store may be closed next.
    if (end.status === "rejected") throw end.reason;
    if (end.value) released++;
  }
  return released;
}

/** Deletes the receipts of customer deletions that finished before an instant. */
export async function forgetReceipts(
  store: Store,
  team: TeamId,
  beforeMs: number,
): Promise<void> {
  const rows = await listRows<CustomerDeletion>(store, { prefix: keys.deletions(team) }, {
    limit: RECEIPTS_AT_ONCE,
  });
  const old = rows.filter(({ value: { finishedAt } }) => (finishedAt ?? Infinity) < beforeMs);
  if (old.length > 0) await store.writer.commit({ team, deletes: old.map(({ key }) => key) });
}

async function release(
  store: Store,
  team: TeamId,
  run: RunId,
  rows: readonly Deno.KvKey[],
): Promise<boolean> {
  const mark = await getEntry(store, keys.purge(team, run));
  // The id stays reserved until its rows are purged.
  if (mark.versionstamp !== null) await purge(store, team, run);
  const inserted = insertedKeys(team, run);
  const entries = await getMany(store, inserted);
  const isDeleted = tombstoneOf(entries.map(({ value }) => value)) !== null;
  const deletes = [...rows, ...isDeleted ? inserted : []];
  return await store.writer.commit({ team, checks: entries, deletes }) !== null && isDeleted;
}
