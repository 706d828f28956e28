/**
 * Reading what lists show of runs: one small row each, their summaries.
 *
 * @module
 */
import type { TeamId } from "../../domain/credentials.ts";
import type { RunSummary } from "../../domain/pipeline/summary.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { listRowOf, type RunListRow, summedRowOf } from "../../domain/run/run_list.ts";
import { keys } from "../keys.ts";
import { GET_MANY_KEYS_MAX } from "../kv_limits.ts";
import { decodeSums } from "../runs/codec_sums.ts";
import { isStored, readHeads } from "../runs/heads.ts";
import { getMany, type Store } from "../store.ts";

/** Reads runs as they were when they were summed up; those that are gone are left out. */
export async function readSummedRows(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, RunListRow>> {
  const found = new Map<RunId, RunListRow>();
  const old: RunId[] = [];
  await Promise.all(
    inGroups(ids).map(async (some) => {
      const entries = await getMany(store, some.map((id) => keys.summary(team, id)));
      for (const [i, id] of some.entries()) {
        const value = entries[i]?.value;
        if (!(value instanceof Uint8Array)) continue;
        const row = summedRowOf(id, decodeSums<RunSummary>(value));
        if (row === null) old.push(id);
        else found.set(id, row);
      }
    }),
  );
  // Some at a time: an output may have half a megabyte.
  for (const some of inGroups(old)) {
    for (const row of await readPresentRows(store, team, some)) found.set(row.id, row);
  }
  return found;
}

/** Reads runs as they are now, from all their parts; those that are not stored are left out. */
export async function readPresentRows(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<RunListRow[]> {
  const heads = await readHeads(store, team, ids);
  return heads.filter(({ head }) => isStored(head))
    .map(({ id, head, summary }) => listRowOf(id, head, summary));
}

function inGroups(ids: readonly RunId[]): (readonly RunId[])[] {
  const groups: (readonly RunId[])[] = [];
  for (let at = 0; at < ids.length; at += GET_MANY_KEYS_MAX) {
    groups.push(ids.slice(at, at + GET_MANY_KEYS_MAX));
  }
  return groups;
}
