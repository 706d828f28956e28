/**
 * Reading the head rows of many runs with few reads.
 *
 * Runs that change together mostly began together, so their rows lie side by side: one read of a range
 * brings many runs, while a read by keys takes the store as long for each key as for ten rows. Where
 * runs lie far apart, reads become so short that they cost no more than their keys would.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { listRows, type Store } from "../store.ts";

/** Rows of one read: more than the 6 that a run can have, and at most what one batch of the runtime holds. */
const ROWS_PER_READ = { min: 8, max: 500 } as const;

/** Rows that a run mostly has, before the worker adds its summary. */
const ROWS_PER_RUN = 3;

type Row = Deno.KvEntry<unknown>;

/** Rows of one run, by the part they are. */
export type HeadRows = ReadonlyMap<string, Deno.KvEntry<unknown>>;

/** Reads the rows of runs of a team, each named once. All rows of one run are of one moment. */
export async function readHeadRows(
  store: Store,
  team: TeamId,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, HeadRows>> {
  const wanted = ids.toSorted();
  const found = new Map(wanted.map((id) => [id, new Map<string, Row>()]));
  let limit = withinBounds(wanted.length * ROWS_PER_RUN);
  let at = 0;
  while (at < wanted.length) {
    const [first, last] = [wanted[at] as RunId, wanted.at(-1) as RunId];
    const rows = await listRows(store, keys.runRange(team, first, last), { limit });
    const isEnd = rows.length < limit;
    // The rest of the last run may be behind the end of the read.
    const whole = isEnd ? rows : withoutLastRun(rows);
    const used = keep(whole, team, found);
    if (isEnd) break;
    at = firstAfter(wanted, team, whole.at(-1));
    const isDense = used * 2 > whole.length;
    limit = withinBounds(isDense ? limit * 2 : limit / 4);
  }
  return found;
}

function withinBounds(rows: number): number {
  return Math.min(ROWS_PER_READ.max, Math.max(ROWS_PER_READ.min, Math.floor(rows)));
}

/** Puts rows to the runs they are of, and counts those that were wanted. */
function keep(
  rows: readonly Row[],
  team: TeamId,
  found: ReadonlyMap<RunId, Map<string, Row>>,
): number {
  let used = 0;
  for (const row of rows) {
    const run = row.key[2] === team ? found.get(row.key[1] as RunId) : undefined;
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

/** Where the wanted runs go on that lie behind a row. */
function firstAfter(wanted: readonly RunId[], team: TeamId, row: Row | undefined): number {
  const [, id, owner] = (row?.key ?? []) as [string, RunId, TeamId];
  const next = wanted.findIndex((each) => each > id || (each === id && team > owner));
  return next < 0 ? wanted.length : next;
}
