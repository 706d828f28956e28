/**
 * Reading the feed of changes.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { ChangePage, ChangeStore, RunChange } from "../../domain/feed/changes.ts";
import { CHANGES_PAGE_CHARS_MAX } from "../../domain/core/limits.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { summedRowOf } from "../../domain/runs/list.ts";
import { keys } from "../base/keys.ts";
import { readSummaries } from "../run_list/rows.ts";
import { lastChangeOf } from "../spend/rollup_cache.ts";
import { getMany, listRows, type Store } from "../store.ts";
import type { ChangeNotifier } from "./change_notifier.ts";

/** Where the number and the run stand in a key. */
const NUMBER = 2, RUN = 3;

/** Changes whose summaries are read at once. */
const CHANGES_AT_ONCE = 50;

/** Characters of a change besides its names: of a deletion, of a run, and of each of its models. */
const DELETED_CHARS = 150, ROW_CHARS = 700, MODEL_CHARS = 160;

/** Creates the store; the bell is that of whoever changes runs in this process. */
export function createChangeStore(store: Store, bell: ChangeNotifier): ChangeStore {
  return {
    page: (team, after, limit, charsMax = CHANGES_PAGE_CHARS_MAX) =>
      store.reads.run(team, () => readPage(store, team, after, limit, charsMax)),
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
  charsMax: number,
): Promise<ChangePage | null> {
  // The number first: everything up to it is then among the rows.
  const last = await readLast(store, team);
  if (after > last) return null;
  const rows = after === last
    ? []
    : await listRows(store, keys.changesAfter(team, after), { limit });
  const changes: RunChange[] = [];
  let chars = 0;
  for (let at = 0; at < rows.length; at += CHANGES_AT_ONCE) {
    for (const change of await readChanges(store, team, rows.slice(at, at + CHANGES_AT_ONCE))) {
      changes.push(change);
      chars += charsOf(change);
      // What was read beyond is read again with the next page.
      if (chars >= charsMax) return { changes, next: change.number, hasMore: true };
    }
  }
  const hasMore = rows.length === limit;
  const behind = Number(rows.at(-1)?.key[NUMBER] ?? 0);
  return { changes, next: hasMore ? behind : Math.max(last, behind), hasMore };
}

/** Reads changes from the summaries of their runs: all that a change shows is there. */
async function readChanges(
  store: Store,
  team: TeamId,
  rows: readonly Deno.KvEntry<unknown>[],
): Promise<RunChange[]> {
  const ids = rows.flatMap(({ key, value }) => value === true ? [key[RUN] as RunId] : []);
  // A run may change while the rows are read, and is then in two of them.
  const summaries = await readSummaries(store, team, [...new Set(ids)]);
  return rows.flatMap(({ key, value }): RunChange[] => {
    const [number, run] = [Number(key[NUMBER]), key[RUN] as RunId];
    if (typeof value === "number") return [{ kind: "deleted", number, run, deletedAt: value }];
    return changeOf(number, run, summaries.get(run));
  });
}

/** The change of a run; none when it changed again since, or is gone: that comes later in the feed. */
function changeOf(number: number, run: RunId, summary: RunSummary | undefined): RunChange[] {
  const numbers = summary?.changes;
  if (summary === undefined || numbers?.latest !== number) return [];
  return [{ kind: "changed", number, numbers, row: summedRowOf(run, summary) }];
}

/** Characters of a change as it is answered, roughly: its names may be long, all else is not. */
function charsOf(change: RunChange): number {
  if (change.kind === "deleted") return DELETED_CHARS;
  const { agent, customerId, feature, cost: { models } } = change.row;
  let chars = ROW_CHARS + lengthOf(agent) + lengthOf(customerId) + lengthOf(feature);
  for (const { provider, model } of models) {
    chars += MODEL_CHARS + lengthOf(provider) + model.length;
  }
  return chars;
}

function lengthOf(name: string | null): number {
  return name?.length ?? 0;
}
