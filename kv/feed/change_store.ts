/**
 * Reading the feed of changes.
 *
 * @module
 */
import type { TeamId } from "../../domain/credentials.ts";
import type { ChangePage, ChangeStore, RunChange } from "../../domain/feed/changes.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { listRowOf } from "../../domain/run/run_list.ts";
import { keys } from "../keys.ts";
import { lastChangeOf } from "../pipeline/rollup_cache.ts";
import { readHeads, type SummarizedHead } from "../runs/heads.ts";
import { getMany, listRows, type Store } from "../store.ts";
import type { ChangeBell } from "./change_bell.ts";

/** Where the number and the run stand in a key. */
const NUMBER = 2, RUN = 3;

/** Creates the store; the bell is that of whoever changes runs in this process. */
export function createChangeStore(store: Store, bell: ChangeBell): ChangeStore {
  return {
    page: (team, after, limit) => store.reads.run(team, () => readPage(store, team, after, limit)),
    last: (team) => store.reads.run(team, () => readLast(store, team)),
    watch: (team, run) => bell.watch(team, run),
  };
}

async function readLast(store: Store, team: TeamId): Promise<number> {
  const [entry] = await getMany(store, [keys.rollupVersion(team)]);
  return lastChangeOf(entry?.value);
}

async function readPage(
  store: Store,
  team: TeamId,
  after: number,
  limit: number,
): Promise<ChangePage | null> {
  // The number first: everything up to it is then among the rows.
  const last = await readLast(store, team);
  if (after > last) return null;
  const rows = after === last
    ? []
    : await listRows(store, keys.changesAfter(team, after), { limit });
  const hasMore = rows.length === limit;
  const behind = Number(rows.at(-1)?.key[NUMBER] ?? 0);
  return {
    changes: await readChanges(store, team, rows),
    next: hasMore ? behind : Math.max(last, behind),
    hasMore,
  };
}

async function readChanges(
  store: Store,
  team: TeamId,
  rows: readonly Deno.KvEntry<unknown>[],
): Promise<RunChange[]> {
  const ids = rows.flatMap(({ key, value }) => value === true ? [key[RUN] as RunId] : []);
  // A run may change while the rows are read, and then stands in some of them twice.
  const heads = await readHeads(store, team, [...new Set(ids)]);
  const found = new Map(heads.map((run) => [run.id, run]));
  return rows.flatMap(({ key, value }): RunChange[] => {
    const [number, run] = [Number(key[NUMBER]), key[RUN] as RunId];
    if (typeof value === "number") return [{ kind: "deleted", number, run, deletedAt: value }];
    return changeOf(number, found.get(run));
  });
}

/** The change of a run; none when it changed again since, or is gone: that comes later in the feed. */
function changeOf(number: number, run: SummarizedHead | undefined): RunChange[] {
  const numbers = run?.summary?.changes;
  if (run === undefined || numbers?.latest !== number) return [];
  return [{ kind: "changed", number, numbers, row: listRowOf(run.id, run.head, run.summary) }];
}
