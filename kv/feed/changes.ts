/**
 * Reads the feed of changes.
 *
 * @module
 */
import type { ChangePage, ChangeStore, RunChange } from "../../domain/feed/changes.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { CHANGES_PAGE_CHARS_MAX } from "../../domain/core/limits.ts";
import { summedRowOf } from "../../domain/runs/list.ts";
import { inTime } from "../base/retry.ts";
import { ENTRIES_PER_COMMIT_MAX, readEntries, type StoredEntry } from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import { groupsOf, outsideScope } from "../base/reads.ts";
import { readSummaries, type TeamRef } from "../runs/heads.ts";
import { lastChangeOf } from "../team/team_rows.ts";
import { getAll, getValue, listRows, type Store } from "../store.ts";

/** Changes whose summaries are read in one batch. */
const CHANGES_AT_ONCE = 50;

/**
 * Characters of a change without its names: of a deletion, of a run, and of each model of a run.
 */
const DELETED_CHARS = 150, ROW_CHARS = 700, MODEL_CHARS = 160;

/** Creates the store; all code that changes runs in this process notifies the listeners. */
export function createChangeStore(
  store: Store,
  { listen }: Pick<ChangeStore, "listen">,
): ChangeStore {
  return {
    page: (team, after, limit, charsMax = CHANGES_PAGE_CHARS_MAX) =>
      store.reads.run(team, () => readPage({ store, team }, after, limit, charsMax)),
    last: (team) => store.reads.run(team, () => readLast({ store, team })),
    // Its number depends on the wait: it is not debited from the request rate and takes no read slot.
    version: (team, run, withJudges = false) =>
      inTime(outsideScope(() => readVersion({ store, team }, run, withJudges)), store.deadlines),
    listen,
  };
}

async function readLast({ store, team }: TeamRef): Promise<number> {
  return lastChangeOf(await getValue(store, keys.rollupVersion(team)));
}

async function readVersion(
  { store, team }: TeamRef,
  run: RunId | null,
  withJudges: boolean,
): Promise<string> {
  const rows = run === null
    ? [keys.rollupVersion(team)]
    : [keys.summary(team, run), keys.runFailure(team, run)];
  const jobs = run !== null && withJudges
    ? await listRows(store, { prefix: keys.judgeJobs(team, run) })
    : [];
  return [...await getAll(store, rows), ...jobs].map(({ versionstamp }) => versionstamp).join();
}

async function readPage(
  at: TeamRef,
  after: number,
  limit: number,
  charsMax: number,
): Promise<ChangePage | null> {
  // Reads the number first, and no changes after it: of the changes up to it, none is missed.
  const last = await readLast(at);
  if (after > last) return null;
  const order = keys.changes(at.team);
  const range = { after: { at: after + 1, run: "" }, before: { at: last + 1, run: "" } };
  const fromBlock = after + 1 - ENTRIES_PER_COMMIT_MAX;
  const { entries } = after === last
    ? { entries: [] }
    : await readEntries(at.store, order, range, { limit, fromBlock });
  const changes: RunChange[] = [];
  let chars = 0;
  for (const group of groupsOf(entries, CHANGES_AT_ONCE)) {
    for (const change of await readChanges(at, group)) {
      changes.push(change);
      chars += charsOf(change);
      // The next page reads the remaining entries again.
      if (chars >= charsMax) return { changes, next: change.number, hasMore: true };
    }
  }
  const lastRead = entries[limit - 1]?.at ?? last;
  return { changes, next: lastRead, hasMore: lastRead < last };
}

/**
 * Reads changes from the summaries of their runs, which hold all that a change shows. The parts of a
 * run may be newer: their state has a later number, and must not be shown under an earlier one.
 */
async function readChanges(at: TeamRef, entries: readonly StoredEntry[]): Promise<RunChange[]> {
  const ids = entries.flatMap(({ run, value }) => value === true ? [run] : []);
  // A run that changes during the read may have two entries.
  const summaries = await readSummaries(at, [...new Set(ids)]);
  return entries.flatMap(({ at: number, run, value }): RunChange[] => {
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

/** Returns the feed row of a deletion, from the value of its tombstone's expiry entry. */
export function deletionRows(team: TeamId, run: RunId, value: unknown): Deno.KvKey[] {
  return typeof value === "number" ? [keys.change(team, value, run)] : [];
}
