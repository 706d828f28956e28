/**
 * Reads the rows that lists and the feed show, from the runs' summaries.
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

/** Summaries read at a time; each is at most one value of the store. */
const SUMMARIES_AT_ONCE = 50;

/** Reads runs as of their latest summary; omits deleted runs. */
export async function readSummedRows(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, RunListRow>> {
  const rows = new Map<RunId, RunListRow>();
  for (const group of groupsOf(ids, SUMMARIES_AT_ONCE)) {
    for (const [id, summary] of await readSummaries(store, team, group)) {
      rows.set(id, summedRowOf(id, summary));
    }
  }
  return rows;
}

/** Reads the summaries of a few runs; omits deleted runs. */
export async function readSummaries(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, RunSummary>> {
  const entries = await getAll(store, ids.map((id) => keys.summary(team, id)));
  const rows = new Map<RunId, RunSummary>();
  for (const [i, { value }] of entries.entries()) {
    const id = ids[i];
    if (id !== undefined && value instanceof Uint8Array) rows.set(id, decodeSums(value));
  }
  return rows;
}

/** Reads the current state of runs from all their parts; omits runs that are not stored. */
export async function readPresentRows(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<RunListRow[]> {
  const heads = await readHeads(store, team, ids);
  return heads.filter(({ head }) => isStored(head))
    .map(({ id, head, summary }) => listRowOf(id, head, summary));
}
