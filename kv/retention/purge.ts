/**
 * Purging what is left of runs that are gone: rows that did not go in one commit with them.
 *
 * A mark names each such run until nothing is left, so a killed process's work is taken up again.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { insertedKeys, tombstoneOf } from "../runs/tombstone.ts";
import { getMany, listRows, type Store } from "../store.ts";

/** Rows deleted in one commit: few enough that calls behind it need not wait. */
const ROWS_PER_COMMIT = 300;

/** Purges every marked run. */
export async function purgeAll(store: Store): Promise<void> {
  for (const { key } of await listRows(store, { prefix: keys.purges() })) {
    await purge(store, key[1] as TeamId, key[2] as RunId);
  }
}

/**
 * Purges one run. Its id is free again then, unless it is refused because it was deleted.
 *
 * @param commitsMax commits after which the rest is left, and the mark with it
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
  // Without a tombstone another process was faster, and the rows may be those of a new run.
  const checks = entries.map(({ key, versionstamp }) => ({ key, versionstamp }));
  for (let commits = 0; tombstone !== null; commits++) {
    const rows = await someRows(store, team, run);
    if (rows.length === 0) break;
    if (commits >= commitsMax) return;
    if (await store.writer.commit({ team, checks, deletes: rows }) === null) return;
  }
  const lifted = tombstone?.by === null ? inserted : [];
  await store.writer.commit({ team, checks, deletes: [keys.purge(team, run), ...lifted] });
}

async function someRows(store: Store, team: TeamId, run: RunId): Promise<Deno.KvKey[]> {
  const limit = ROWS_PER_COMMIT;
  const chunks = await listRows(store, { prefix: keys.chunks(team, run) }, { limit });
  const rows = chunks.length > 0
    ? chunks
    : await listRows(store, { prefix: keys.events(team, run) }, { limit });
  return rows.map(({ key }) => key);
}
