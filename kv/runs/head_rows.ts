/**
 * Reads the rows of many runs, with few reads and few round trips.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { groupsOf } from "../base/groups.ts";
import { keyParts, keys } from "../base/keys.ts";
import { listRows, type Store } from "../store.ts";

/** Rows per run and read: more than a run's maximum of 8; and maximum rows of one read. */
const ROWS = { perRun: 10, max: 500 } as const;

/** Maximum concurrent reads. */
const READS_AT_ONCE = 100;

/**
 * Characters that ids of runs with adjacent rows share: those of UUIDv7 of the same minute do. It is
 * only a guess, which costs a read where it is wrong.
 */
const SHARED_CHARS = 15;

type Row = Deno.KvEntry<unknown>;

/** Rows of one run, by part. */
export type HeadRows = ReadonlyMap<string, Row>;

/**
 * Reads the rows of a team's distinct runs. All rows of one run are from one snapshot.
 *
 * Runs that change together usually started together, so their rows are adjacent: one range read
 * returns many runs, at a tenth of the cost of a read for each. Runs that are far apart are read
 * concurrently, each alone: one after the other, they would each take a round trip to the store.
 */
export async function readHeadRows(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, HeadRows>> {
  const byRun = new Map(ids.map((id) => [id, new Map<string, Row>()]));
  let ranges = neighborsOf(ids.toSorted());
  while (ranges.length > 0) {
    const alone: RunId[] = [];
    for (const group of groupsOf(ranges, READS_AT_ONCE)) {
      const left = await Promise.all(
        group.map((range) => readNeighbors(store, team, range, byRun)),
      );
      alone.push(...left.flat());
    }
    ranges = alone.map((id) => [id]);
  }
  return byRun;
}

/** Splits sorted ids where two of them begin differently. */
function neighborsOf(sortedIds: readonly RunId[]): (readonly RunId[])[] {
  const startOf = (id: RunId) => id.slice(0, SHARED_CHARS);
  return [...Map.groupBy(sortedIds, startOf).values()];
}

/**
 * Reads the rows of runs from the first to the last.
 *
 * @returns runs that were not read, because most rows belong to other runs
 */
async function readNeighbors(
  store: Store,
  team: TeamId,
  sortedIds: readonly RunId[],
  byRun: ReadonlyMap<RunId, Map<string, Row>>,
): Promise<readonly RunId[]> {
  const limit = Math.min(ROWS.max, ROWS.perRun * sortedIds.length);
  const last = sortedIds.at(-1) as RunId;
  for (let at = 0; at < sortedIds.length;) {
    const rows = await listRows(store, keys.runRange(team, sortedIds[at] as RunId, last), {
      limit,
    });
    const isEnd = rows.length < limit;
    // The last run may be incomplete.
    const complete = isEnd ? rows : withoutLastRun(rows);
    const used = addRows(complete, team, byRun);
    if (isEnd) break;
    at = firstAfter(sortedIds, team, complete.at(-1));
    if (used * 2 < complete.length) return sortedIds.slice(at);
  }
  return [];
}

/** Adds rows to their runs and counts the requested ones. */
function addRows(
  rows: readonly Row[],
  team: TeamId,
  byRun: ReadonlyMap<RunId, Map<string, Row>>,
): number {
  let used = 0;
  for (const row of rows) {
    const parts = keyParts.headRow(row.key);
    const run = parts.team === team ? byRun.get(parts.run) : undefined;
    if (run === undefined) continue;
    run.set(parts.row, row);
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
