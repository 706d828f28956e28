/**
 * Removes all data of a run.
 *
 * One commit deletes the rows that make the run exist. Further commits purge the events of a large
 * run. Meanwhile a tombstone reserves the id, and a mark names the run until no row remains, so
 * that any process completes the purge.
 *
 * @module
 */
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { WorkHandler } from "../../domain/work/work.ts";
import { isCurrent, type RunSummary, summarize } from "../../domain/runs/summary.ts";
import {
  type ExpiryEntry,
  expiryEntryOf,
  type RunDeletion,
} from "../../domain/retention/retention.ts";
import { arrivalsOf, type RunParts } from "../../domain/runs/run.ts";
import { monthOf } from "../../domain/core/time.ts";
import { keys } from "../base/keys.ts";
import {
  insertedKeys,
  type RunRef,
  type RunRows,
  type RunUpdate,
  type SummarizedHead,
  tombstoneOf,
} from "../runs/heads.ts";
import { judgeWork } from "../judges/judge_rows.ts";
import { moveWork, workSet } from "../work/store.ts";
import { getMany, getValue, listRows, type Store } from "../store.ts";
import type { KvSet, Write } from "../writer/group.ts";
import { encodeSums } from "../base/codec_sums.ts";

/**
 * Event rows deleted in one commit: few enough that calls queued after it do not wait long. If a
 * run has more, all are purged after the commit that removes the run.
 */
const ROWS_MAX = 300;

/** A removal of a run or of its payload, ready to commit. */
export interface Removal {
  readonly change: RunUpdate;
  /** Number of events removed now; excludes earlier removals. */
  readonly events: number;
}

/** Time and actor of a deletion. */
export type DeletionMark = Pick<RunDeletion, "deletedAt" | "by">;

/** Reserves the id of an expired run until its rows are purged. */
const EXPIRED: DeletionMark = { deletedAt: 0, by: null };

/** Deletes a run on request: it no longer counts in any total except the quota. */
export function deleteRun(run: SummarizedHead, deleted: DeletionMark): Promise<Removal> {
  return removeRun(run, deleted, null, deleted.deletedAt);
}

/**
 * Expires a run: its totals stay, and its id is free again.
 *
 * @param nowMs time of the sweep, unix milliseconds
 */
export function expireRun(run: SummarizedHead, nowMs: number): Promise<Removal> {
  const { head, summary } = run;
  return removeRun(run, null, isCurrent(summary, head) ? summary : summarize(head, summary), nowMs);
}

async function removeRun(
  run: SummarizedHead,
  deleted: DeletionMark | null,
  remains: RunSummary | null,
  nowMs: number,
): Promise<Removal> {
  const { store, team, id, head, ledger, summary, check } = run;
  const incidents = await getValue<readonly string[]>(store, keys.runIncidents(team, id)) ?? [];
  const rows = await eventKeys(run, ROWS_MAX + 1);
  const isPurged = rows.length > ROWS_MAX;
  // The run's calls stay in the usage counters. Those of earlier removals are there already.
  const months = new Map(Object.entries(ledger.months));
  const events = months.values().reduce((sum, count) => sum + count, 0);
  const sums = usageSums(team, callsByMonth(head.parts, months));
  const receipt = deleted === null ? null : { run: id, ...deleted, events };
  const tombstone = receipt ?? (isPurged ? { run: id, ...EXPIRED, events } : null);
  const inserted = insertedKeys(team, id);
  const change: RunUpdate = {
    run,
    before: summary,
    after: null,
    remains,
    deletion: receipt,
    rows: {
      checks: [check("opening"), check("closing"), check("ledger")],
      sums,
      sets: [
        ...tombstone === null ? [] : inserted.map((key) => ({ key, value: tombstone })),
        ...isPurged ? purgeSets(team, id, nowMs) : [],
        // The work of its incidents removes it from them.
        ...incidents.map((name) => workSet({ at: nowMs, kind: "incident", team, name })),
        // Those of judges remove their jobs, once what these cost is in the ledger.
        ...(summary?.judges ?? []).map((slug) =>
          judgeWork(team, { run: id, slug, trial: null }, nowMs)
        ),
      ],
      deletes: [
        ...tombstone === null ? inserted : [],
        keys.idle(team, id),
        keys.summary(team, id),
        keys.price(team, id),
        keys.runIncidents(team, id),
        keys.runFailure(team, id),
        ...isPurged ? [] : rows,
      ],
      removed: moveExpiryEntry(run, null).removed,
    },
  };
  return { change, events };
}

/** Returns the mark of a run that is purged, and its row of the work queue. */
function purgeSets(team: TeamId, id: RunId, at: number): KvSet[] {
  const work = workSet({ at, kind: "purge", team, name: id });
  return [{ key: keys.purge(team, id), value: true }, work];
}

/** Counts the calls of a run by month: of its events, and those that stored the opening and the close. */
export function callsByMonth(
  parts: RunParts,
  events: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const months = new Map(events);
  for (const month of arrivalsOf(parts).map(monthOf)) {
    months.set(month, (months.get(month) ?? 0) + 1);
  }
  return months;
}

/** Returns the changes of the counters that keep removed calls, by month. */
export function usageSums(
  team: TeamId,
  months: ReadonlyMap<string, number>,
): NonNullable<Write["sums"]> {
  return Array.from(months, ([month, by]) => ({
    key: keys.removedUsage(team, month),
    by: BigInt(by),
  }));
}

/**
 * Reads the keys of a run's chunks and events, at most `limit`. Marks of staged chunks are read after
 * the chunks: a write whose chunks are removed loses its mark.
 */
export async function eventKeys({ store, team, id }: RunRef, limit: number): Promise<Deno.KvKey[]> {
  const rowKeys: Deno.KvKey[] = [];
  for (const prefix of [keys.chunks(team, id), keys.stagedOf(team, id), keys.events(team, id)]) {
    if (rowKeys.length === limit) break;
    const rows = await listRows(store, { prefix }, { limit: limit - rowKeys.length });
    rowKeys.push(...rows.map(({ key }) => key));
  }
  return rowKeys;
}

/** Commits of one turn of a run that is purged. */
const COMMITS_PER_TURN = 10;

/** Creates the handler of removed runs whose events are left; `now` returns unix milliseconds. */
export function createPurgeWork(store: Store, now: () => number): WorkHandler {
  return {
    kind: "purge",
    async handle(rows) {
      for (const row of rows) {
        const run = { store, team: row.team, id: row.name as RunId };
        const isPurged = await purge(run, COMMITS_PER_TURN);
        await moveWork(store, row, isPurged ? null : now());
      }
      return [];
    },
  };
}

/**
 * Purges one run if it is marked. Frees its id, unless a deletion still reserves it.
 *
 * @param commitsMax commits after which the rest and the mark stay
 * @returns false if they do
 */
export async function purge(run: RunRef, commitsMax: number): Promise<boolean> {
  const { store, team, id } = run;
  const inserted = insertedKeys(team, id);
  for (let commits = 0;; commits++) {
    const [mark, ...entries] = await getMany(store, [keys.purge(team, id), ...inserted]);
    // Another process finished the purge, and the rows may belong to a new run.
    if (!mark?.versionstamp) return true;
    const rows = await eventKeys(run, ROWS_MAX);
    if (rows.length > 0 && commits >= commitsMax) return false;
    const isFreed = tombstoneOf(entries.map(({ value }) => value))?.by === null;
    const last = [mark.key, ...isFreed ? inserted : []];
    // On a conflict with another purge of this run, the next round reads what is left.
    await store.writer.commit({ team, checks: [mark], deletes: rows.length > 0 ? rows : last });
  }
}

/**
 * Replaces the expiry entry of a run. The new one has a row of its own: the sweep moves few runs
 * at a time, and it moves them once.
 *
 * @param entry new entry, which may equal the stored one; null for none
 */
export function moveExpiryEntry(
  { team, id, head, ledger, summary }: SummarizedHead,
  entry: ExpiryEntry | null,
): Required<Pick<RunRows, "added" | "removed" | "sets">> {
  const placeOf = ({ retentionClass, since }: ExpiryEntry) => ({
    order: keys.expiryOrder(team, retentionClass),
    at: since,
    run: id,
  });
  const stored = expiryEntryOf(head.parts, ledger);
  const blocks = summary?.blocks ?? [];
  // An entry stays in its block when another one follows, and the run may return to that entry.
  const left = entry === null ? [stored] : [stored, entry];
  return {
    removed: left.map((each) => ({ ...placeOf(each), blocks })),
    added: entry === null ? [] : [{ ...placeOf(entry), value: true, mayShare: false }],
    // The worker adds the next entry only if the summary has another one. This is no change of the
    // run, so the feed does not show it.
    sets: entry === null || summary === null
      ? []
      : [{ key: keys.summary(team, id), value: encodeSums({ ...summary, expiry: entry }) }],
  };
}
