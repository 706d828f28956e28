/**
 * Reads the head rows of many runs with few range reads.
 *
 * Runs that change together usually started together, so their rows are adjacent: one range read
 * returns many runs, while a read by keys costs as much per key as ten rows. If runs are far apart,
 * range reads become so short that they cost no more than reads by keys.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { listRows } from "../store.ts";
import type { TeamAt } from "./heads.ts";

/** Rows per read: more than a run's maximum of 6, and at most one batch of the runtime. */
const ROWS_PER_READ = { min: 8, max: 500 } as const;

/** Typical rows of a run before the worker adds its summary. */
const ROWS_PER_RUN = 3;

type Row = Deno.KvEntry<unknown>;

/** Rows of one run, by part. */
export type HeadRows = ReadonlyMap<string, Deno.KvEntry<unknown>>;

/** Reads the rows of a team's distinct runs. All rows of one run are from one snapshot. */
export async function readHeadRows(
  { store, team }: TeamAt,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, HeadRows>> {
  const sortedIds = ids.toSorted();
  const byRun = new Map(sortedIds.map((id) => [id, new Map<string, Row>()]));
  let limit = withinBounds(sortedIds.length * ROWS_PER_RUN);
  let at = 0;
  while (at < sortedIds.length) {
    const [first, last] = [sortedIds[at] as RunId, sortedIds.at(-1) as RunId];
    const rows = await listRows(store, keys.runRange(team, first, last), { limit });
    const isEnd = rows.length < limit;
    // The last run may be incomplete.
    const complete = isEnd ? rows : withoutLastRun(rows);
    const used = addRows(complete, team, byRun);
    if (isEnd) break;
    at = firstAfter(sortedIds, team, complete.at(-1));
    const isDense = used * 2 > complete.length;
    limit = withinBounds(isDense ? limit * 2 : limit / 4);
  }
  return byRun;
}

function withinBounds(rows: number): number {
  return Math.min(ROWS_PER_READ.max, Math.max(ROWS_PER_READ.min, Math.floor(rows)));
}

/** Adds rows to their runs and counts those that were requested. */
function addRows(
  rows: readonly Row[],
  team: TeamId,
  byRun: ReadonlyMap<RunId, Map<string, Row>>,
): number {
  let used = 0;
  for (const row of rows) {
    const run = row.key[2] === team ? byRun.get(row.key[1] as RunId) : undefined;
    if (run === undefined) continue;
    run.set(String(row.key[3]), row);
    used++;
  }
  return used;
}

function withoutLastRun(rows: readonly Row[]): readonly Row[] {
  const last = rows.at(-1)?.key;
  const end = rows.findIndex(({ key }) => key[1] === last?.[1] && key[2] === last?.[2]);
  return rows.slice(0, end);
}

/** Returns the position of the first id after a row. */
function firstAfter(sortedIds: readonly RunId[], team: TeamId, row: Row | undefined): number {
  const [, id, owner] = (row?.key ?? []) as [string, RunId, TeamId];
  const next = sortedIds.findIndex((run) => run > id || (run === id && team > owner));
  return next < 0 ? sortedIds.length : next;
}
