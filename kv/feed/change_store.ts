/**
 * Reads the feed of changes.
 *
 * @module
 */
import type { ChangePage, ChangeStore, RunChange } from "../../domain/feed/changes.ts";
import { CHANGES_PAGE_CHARS_MAX } from "../../domain/core/limits.ts";
import { summedRowOf } from "../../domain/runs/list.ts";
import { groupsOf } from "../base/groups.ts";
import { keyParts, keys } from "../base/keys.ts";
import { readSummaries, type TeamAt } from "../runs/heads.ts";
import { lastChangeOf } from "../spend/rollup_cache.ts";
import { getValue, listRows, type Store } from "../store.ts";
import type { ChangeNotifier } from "./change_notifier.ts";

/** Changes whose summaries are read in one batch. */
const CHANGES_AT_ONCE = 50;

/**
 * Characters of a change without its names: of a deletion, of a run, and of each model of a run.
 */
const DELETED_CHARS = 150, ROW_CHARS = 700, MODEL_CHARS = 160;

/** Creates the store; the notifier is shared by all code that changes runs in this process. */
export function createChangeStore(store: Store, notifier: ChangeNotifier): ChangeStore {
  return {
    page: (team, after, limit, charsMax = CHANGES_PAGE_CHARS_MAX) =>
      store.reads.run(team, () => readPage({ store, team }, after, limit, charsMax)),
    last: (team) => store.reads.run(team, () => readLast({ store, team })),
    watch: (team, run) => notifier.watch(team, run),
  };
}

async function readLast({ store, team }: TeamAt): Promise<number> {
  return lastChangeOf(await getValue(store, keys.rollupVersion(team)));
}

async function readPage(
  at: TeamAt,
  after: number,
  limit: number,
  charsMax: number,
): Promise<ChangePage | null> {
  // Reads the number first: all changes up to it are then among the rows.
  const last = await readLast(at);
  if (after > last) return null;
  const rows = after === last
    ? []
    : await listRows(at.store, keys.changesAfter(at.team, after), { limit });
  const changes: RunChange[] = [];
  let chars = 0;
  for (const group of groupsOf(rows, CHANGES_AT_ONCE)) {
    for (const change of await readChanges(at, group)) {
      changes.push(change);
      chars += charsOf(change);
      // The next page reads the remaining rows again.
      if (chars >= charsMax) return { changes, next: change.number, hasMore: true };
    }
  }
  const hasMore = rows.length === limit;
  const lastKey = rows.at(-1)?.key;
  const lastRead = lastKey === undefined ? 0 : keyParts.position(lastKey);
  return { changes, next: hasMore ? lastRead : Math.max(last, lastRead), hasMore };
}

/** Reads changes from the summaries of their runs, which hold all that a change shows. */
async function readChanges(
  at: TeamAt,
  rows: readonly Deno.KvEntry<unknown>[],
): Promise<RunChange[]> {
  const ids = rows.flatMap(({ key, value }) => value === true ? [keyParts.run(key)] : []);
  // A run that changes during the read has two rows.
  const summaries = await readSummaries(at, [...new Set(ids)]);
  return rows.flatMap(({ key, value }): RunChange[] => {
    const [number, run] = [keyParts.position(key), keyParts.run(key)];
    if (typeof value === "number") return [{ kind: "deleted", number, run, deletedAt: value }];
    const summary = summaries.get(run);
    // The run has changed again or is deleted: that change is later in the feed.
    if (summary?.changes?.latest !== number) return [];
    return [{
      kind: "changed",
      number,
      numbers: summary.changes,
      row: summedRowOf(run, summary),
    }];
  });
}

/** Estimates the characters of a change in a response: only names can be long. */
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
