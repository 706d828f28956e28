/**
 * Reading what lists and the feed show of runs: one small row each, their summaries.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { listRowOf, type RunListRow, summedRowOf } from "../../domain/runs/list.ts";
import { keys } from "../base/keys.ts";
import { groupsOf } from "../base/groups.ts";
import { decodeSums } from "../base/codec_sums.ts";
import { isStored, readHeads } from "../runs/heads.ts";
import { getAll, type Store } from "../store.ts";

/** Stored summaries in memory at once; each is at most one value of the store. */
const SUMMARIES_AT_ONCE = 50;

/** Reads runs as they were when they were summed up; those that are gone are left out. */
export async function readSummedRows(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, RunListRow>> {
  const found = new Map<RunId, RunListRow>();
  for (const some of groupsOf(ids, SUMMARIES_AT_ONCE)) {
    for (const [id, summary] of await readSummaries(store, team, some)) {
      found.set(id, summedRowOf(id, summary));
    }
  }
  return found;
}

/** Reads the summaries of a few runs; those that are gone are left out. */
export async function readSummaries(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, RunSummary>> {
  const entries = await getAll(store, ids.map((id) => keys.summary(team, id)));
  const found = new Map<RunId, RunSummary>();
  for (const [i, { value }] of entries.entries()) {
    const id = ids[i];
    if (id !== undefined && value instanceof Uint8Array) found.set(id, decodeSums(value));
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
