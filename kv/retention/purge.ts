/**
 * Purges the rows of removed runs that did not fit into the removing commit.
 *
 * A mark names each such run until no row remains, so that another process resumes after a crash.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { insertedKeys, tombstoneOf } from "../runs/tombstone.ts";
import { getMany, listRows, type Store } from "../store.ts";

/** Rows deleted in one commit: few enough that calls queued after it do not wait long. */
const ROWS_PER_COMMIT = 300;

/** Purges every marked run. */
export async function purgeAll(store: Store): Promise<void> {
  for (const { key } of await listRows(store, { prefix: keys.purges() })) {
    await purge(store, key[1] as TeamId, key[2] as RunId);
  }
}

/**
 * Purges one run. Frees its id, unless a deletion still reserves it.
 *
 * @param commitsMax commits after which the rest and the mark stay
 */
export async function purge(
  store: Store,
  team: TeamId,
  run: RunId,
  commitsMax = Infinity,
): Promise<void> {
  const inserted = insertedKeys(team, run);
  const entries = await getMany(store, inserted);
  const tombstone = tombstoneOf(entries.map(({ value }) => value));
  // Without a tombstone, another process finished the purge, and the rows may belong to a new run.
  const checks = entries.map(({ key, versionstamp }) => ({ key, versionstamp }));
  for (let commits = 0; tombstone !== null; commits++) {
    const rows = await someRows(store, team, run);
    if (rows.length === 0) break;
    if (commits >= commitsMax) return;
    if (await store.writer.commit({ team, checks, deletes: rows }) === null) return;
  }
  const freed = tombstone?.by === null ? inserted : [];
  await store.writer.commit({ team, checks, deletes: [keys.purge(team, run), ...freed] });
}

async function someRows(store: Store, team: TeamId, run: RunId): Promise<Deno.KvKey[]> {
  const limit = ROWS_PER_COMMIT;
  const chunks = await listRows(store, { prefix: keys.chunks(team, run) }, { limit });
  const rows = chunks.length > 0
    ? chunks
    : await listRows(store, { prefix: keys.events(team, run) }, { limit });
  return rows.map(({ key }) => key);
}
