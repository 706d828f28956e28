/**
 * Removes all data of a run.
 *
 * One commit deletes the rows that make the run exist. Further commits delete the events of a large
 * run; meanwhile a tombstone reserves the id.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { isCurrent, type RunSummary, summarize } from "../../domain/runs/summary.ts";
import type { RunDeletion } from "../../domain/retention/deletion.ts";
import { expiryEntryOf } from "../../domain/retention/retention.ts";
import { arrivalsOf } from "../../domain/runs/run.ts";
import { monthOf } from "../../domain/core/time.ts";
import { keys } from "../base/keys.ts";
import type { RunUpdate } from "../runs/run_update.ts";
import type { SummarizedHead } from "../runs/heads.ts";
import { insertedKeys } from "../runs/tombstone.ts";
import { listRows, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";

/**
 * Event rows deleted in the same commit as the run. If a run has more, all are purged afterwards.
 */
const ROWS_MAX = 300;

/** A removal of a run or of its payload, ready to commit. */
export interface Removal {
  readonly change: RunUpdate;
  /** Number of events removed now; excludes earlier removals. */
  readonly events: number;
  /** The receipt that replaces the run; null unless the run is deleted. */
  readonly receipt: RunDeletion | null;
  /** True if rows must be purged after the commit. */
  readonly isPurged: boolean;
}

/** When a run is deleted, and by which actor. */
export type Deleted = Pick<RunDeletion, "deletedAt" | "by">;

/** Reserves the id of an expired run until its rows are purged. */
const GONE_BY_AGE: Deleted = { deletedAt: 0, by: null };

/** Deletes a run on request: it no longer counts in any total except the quota. */
export function deleteRun(
  store: Store,
  team: TeamId,
  run: SummarizedHead,
  deleted: Deleted,
): Promise<Removal> {
  return removeRun(store, team, run, deleted, null);
}

/** Expires a run: its totals stay, and its id is free again. */
export function expireRun(store: Store, team: TeamId, run: SummarizedHead): Promise<Removal> {
  const { head, summary } = run;
  const remains = isCurrent(summary, head) ? summary : summarize(head, summary);
  return removeRun(store, team, run, null, remains);
}

async function removeRun(
  store: Store,
  team: TeamId,
  run: SummarizedHead,
  deleted: Deleted | null,
  remains: RunSummary | null,
): Promise<Removal> {
  const { id, head, ledger, summary, versions } = run;
  const rows = await rowsOfEvents(store, team, run);
  const isPurged = rows.length > ROWS_MAX;
  const { sums, events } = callsToKeep(team, run);
  const receipt = deleted === null ? null : { run: id, ...deleted, events };
  const tombstone = receipt ?? (isPurged ? { run: id, ...GONE_BY_AGE, events } : null);
  const [opening, closing, ledgerKey] = insertedKeys(team, id) as [Key, Key, Key];
  const inserted = [opening, closing, ledgerKey];
  const change: RunUpdate = {
    run,
    before: summary,
    after: null,
    remains,
    deletion: receipt,
    rows: {
      checks: [
        { key: opening, versionstamp: versions.opening },
        { key: closing, versionstamp: versions.closing },
        { key: ledgerKey, versionstamp: versions.ledger },
      ],
      sums,
      sets: [
        ...tombstone === null ? [] : inserted.map((key) => ({ key, value: tombstone })),
        ...isPurged ? [{ key: keys.purge(team, id), value: true }] : [],
      ],
      deletes: [
        ...tombstone === null ? inserted : [],
        keys.summary(team, id),
        keys.price(team, id),
        keys.processing(team, id),
        keys.deadStage(team, id),
        keys.expiry(team, expiryEntryOf(head.parts, ledger), id),
        ...isPurged ? [] : rows,
      ],
    },
  };
  return { change, events, receipt, isPurged };
}

type Key = Deno.KvKey;

/** Lists the rows of a run's events and chunks, at most one more than fit into one commit. */
async function rowsOfEvents(store: Store, team: TeamId, run: SummarizedHead): Promise<Key[]> {
  const rowKeys: Key[] = [];
  for (const prefix of [keys.chunks(team, run.id), keys.events(team, run.id)]) {
    const limit = ROWS_MAX + 1 - rowKeys.length;
    if (limit > 0) {
      rowKeys.push(...(await listRows(store, { prefix }, { limit })).map(({ key }) => key));
    }
  }
  return rowKeys;
}

/** Keeps the run's calls in the usage counters, by month. Earlier removals are already kept. */
function callsToKeep(
  team: TeamId,
  { head, ledger }: SummarizedHead,
): { readonly sums: NonNullable<Write["sums"]>; readonly events: number } {
  const months = new Map(Object.entries(ledger.months));
  const events = months.values().reduce((sum, count) => sum + count, 0);
  for (const call of arrivalsOf(head.parts)) {
    months.set(monthOf(call), (months.get(monthOf(call)) ?? 0) + 1);
  }
  const sums = Array.from(months, ([month, by]) => ({
    key: keys.removedUsage(team, month),
    by: BigInt(by),
  }));
  return { sums, events };
}
