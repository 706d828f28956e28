/**
 * Reads the rows of many runs, with few reads and few round trips.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { groupsOf } from "../base/groups.ts";
import { keyParts, keys } from "../base/keys.ts";
import { listRows, type Store } from "../store.ts";

/** Rows per run and read: more than a run's maximum of 8; and maximum runs of one read. */
const ROWS_PER_RUN = 10, RUNS_PER_READ = 50;

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
  const alone: RunId[] = [];
  for (const ranges of groupsOf(neighborsOf(ids.toSorted()), READS_AT_ONCE)) {
    const left = ranges.map((range) => readNeighbors(store, team, range, byRun));
    alone.push(...(await Promise.all(left)).flat());
  }
  for (const group of groupsOf(alone, READS_AT_ONCE)) {
    await Promise.all(group.map((id) => readNeighbors(store, team, [id], byRun)));
  }
  return byRun;
}

/** Splits sorted ids where two of them begin differently, and after those of one read. */
function neighborsOf(sortedIds: readonly RunId[]): (readonly RunId[])[] {
  const startOf = (id: RunId) => id.slice(0, SHARED_CHARS);
  const neighbors = Map.groupBy(sortedIds, startOf).values().toArray();
  return neighbors.flatMap((ids) => groupsOf(ids, RUNS_PER_READ));
}

/**
 * Reads the rows of runs from the first to the last, unless they are among many rows of other runs.
 *
 * @returns runs that were not read
 */
async function readNeighbors(
  store: Store,
  team: TeamId,
  sortedIds: readonly RunId[],
  byRun: ReadonlyMap<RunId, Map<string, Row>>,
): Promise<readonly RunId[]> {
  const limit = ROWS_PER_RUN * sortedIds.length;
  const [first, last] = [sortedIds[0] as RunId, sortedIds.at(-1) as RunId];
  const start = keys.run(team, first);
  // Other teams may have runs with the same id.
  const range = first === last
    ? { start, end: [...start, true] }
    : keys.runRange(team, first, last);
  const rows = await listRows(store, range, { limit });
  const lastRow = rows.length < limit ? undefined : rows.at(-1);
  const lastRun = lastRow && keyParts.headRow(lastRow.key).run;
  // The last run of a read that reached its limit may be incomplete.
  const isRead = (id: RunId) => lastRun === undefined || id < lastRun;
  for (const row of rows) {
    const parts = keyParts.headRow(row.key);
    if (parts.team === team && isRead(parts.run)) byRun.get(parts.run)?.set(parts.row, row);
  }
  return sortedIds.filter((id) => !isRead(id));
}
