/**
 * The store of the sweep: finds due runs by key ranges, a page at a time.
 *
 * @module
 */
import { addCounts, isZero } from "../../domain/core/sums.ts";
import type { Team } from "../../domain/teams/team.ts";
import { planOfTeam } from "../../domain/teams/plans.ts";
import {
  type CustomerDeletion,
  cutoffOf,
  EMPTY_SWEEP,
  expiryEntryOf,
  type ReadReport,
  type RetentionClass,
  STAGED_MS_MAX,
  type SweepClock,
  type SweepClockMove,
  type SweepCounts,
  type SweepReport,
  type SweepStep,
} from "../../domain/retention/retention.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { deletionRows } from "../feed/changes.ts";
import { type Position, readEntries, type StoredEntry } from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import type { TeamCommit } from "../summaries/team_commit.ts";
import { forgetFlips } from "../monitors/reads.ts";
import { forgetRefusals } from "../refusals/refusal_store.ts";
import { insertedKeys, readHeads, type RunRef, tombstoneOf } from "../runs/heads.ts";
import { removeOldStaged } from "../runs/staging.ts";
import { eachRow, getEntry, getMany, listRows, rowsAfter, type Store } from "../store.ts";
import { forgetSessions } from "../teams/sessions.ts";
import type { KvSet } from "../writer/group.ts";
import { leaveFaulty, planExpiry } from "./expiry.ts";

/** Runs of one step, about as many as fit into one commit. */
const RUNS_PER_STEP = 40;

/** Payload rows of one run removed in one check; the next check removes more. */
const ROWS_PER_CHECK = 300;

/** Receipts checked in one night, oldest first. */
const RECEIPTS_AT_ONCE = 300;

/** Maximum number of stored reports. */
const REPORTS_MAX = 60;

/** The store as the sweep uses it. */
export type SweepStore = ReturnType<typeof createSweepStore>;

/** Creates the sweep's store; `commits` is shared by all code that changes runs in this process. */
export function createSweepStore(store: Store, commits: TeamCommit) {
  return {
    /** Iterates over the teams after one; over all if it is null. */
    async *teams(after: TeamId | null): AsyncGenerator<Team> {
      const range = rowsAfter(keys.teams(), after && keys.team(after));
      for await (const { value } of eachRow<Team>(store, range)) yield value;
    },
    /** Removes what a killed process staged for a write that it did not commit. */
    async resume(nowMs: number) {
      await removeOldStaged(store, nowMs - STAGED_MS_MAX);
    },
    /**
     * Checks the next due runs of a team and removes their expired data.
     *
     * @param from `next` of the previous step; null for the first
     * @param dryRun whether to count only
     */
    step: (
      team: Team,
      retentionClass: RetentionClass,
      nowMs: number,
      from: object | null,
      dryRun: boolean,
    ): Promise<SweepStep> =>
      step({ store, commits, team, nowMs, dryRun }, retentionClass, from as Cursor | null),
    /** Deletes expired dashboard sessions, one batch per iteration. */
    forgetSessions: (nowMs: number): AsyncIterable<void> => forgetSessions(store, nowMs),
    /** Reads the sweep clock; null if the ledger has none yet. */
    async clock(): Promise<SweepClock | null> {
      const { value, versionstamp } = await getEntry(store, keys.sweepClock());
      return versionstamp === null ? null : { atMs: value as number, version: versionstamp };
    },
    /** Stores the first sweep clock, unless another process already did. */
    async startClock(atMs: number) {
      const key = keys.sweepClock();
      const checks = [{ key, versionstamp: null }];
      await store.writer.commit({ checks, sets: [{ key, value: atMs }] });
    },
    /** Reads the report of a night; null if its sweep has not started. */
    async report(night: string): Promise<ReadReport | null> {
      const { value, versionstamp } = await getEntry(store, keys.sweep(night));
      const report = value as SweepReport;
      return versionstamp === null ? null : { report, version: versionstamp };
    },
    /** Lists the last reports, latest first. */
    async reports(max: number): Promise<readonly SweepReport[]> {
      const options = { limit: max, reverse: true };
      const rows = await listRows<SweepReport>(store, { prefix: keys.sweeps() }, options);
      return rows.map(({ value }) => value);
    },
    /**
     * Stores a report: replaces `previous`, or adds the first one. Returns null on a conflict with
     * another process.
     *
     * @param move moves the sweep clock in the same commit
     */
    async saveReport(
      previous: ReadReport | null,
      report: SweepReport,
      move?: SweepClockMove,
    ): Promise<ReadReport | null> {
      const checks = [{ key: keys.sweep(report.night), versionstamp: previous?.version ?? null }];
      const sets: KvSet[] = [{ key: keys.sweep(report.night), value: report }];
      if (move !== undefined) {
        checks.push({ key: keys.sweepClock(), versionstamp: move.from?.version ?? null });
        sets.push({ key: keys.sweepClock(), value: move.toMs });
      }
      const deletes = report.finishedAt === null ? [] : await oldReports(store);
      const version = await store.writer.commit({ checks, sets, deletes });
      return version === null ? null : { report, version };
    },
  };
}

async function oldReports(store: Store): Promise<Deno.KvKey[]> {
  const rows = await listRows(store, { prefix: keys.sweeps() });
  return rows.slice(0, Math.max(0, rows.length - REPORTS_MAX)).map(({ key }) => key);
}

/** Context of a step. */
interface Step {
  readonly store: Store;
  readonly commits: TeamCommit;
  readonly team: Team;
  readonly nowMs: number;
  readonly dryRun: boolean;
}

/** The due expiry entries of each run. */
type Due = ReadonlyMap<RunId, readonly StoredEntry[]>;

/** The entry after which to continue; null to begin at the first. */
interface Cursor {
  readonly after: Position | null;
}

async function step(
  on: Step,
  retentionClass: RetentionClass,
  from: Cursor | null,
): Promise<SweepStep> {
  const { store, team, nowMs, dryRun } = on;
  const cutoffMs = cutoffOf(planOfTeam(team), retentionClass, nowMs);
  if (cutoffMs === -Infinity) return { counts: EMPTY_SWEEP, next: null };
  const after = from?.after ?? null;
  // No id sorts before the empty text.
  const range = { after, before: { at: cutoffMs, run: "" } };
  const order = keys.expiryOrder(team.id, retentionClass);
  const { entries } = await readEntries(store, order, range, { limit: RUNS_PER_STEP });
  const last = entries.at(-1);
  if (last === undefined) {
    if (retentionClass === "tombstone" && !dryRun) {
      await forgetReceipts(store, team.id, cutoffMs);
      await forgetRefusals(store, team.id, nowMs);
      await forgetFlips(store, team.id, nowMs);
    }
    return { counts: EMPTY_SWEEP, next: null };
  }
  const due = Map.groupBy(entries, ({ run }) => run);
  const passed = { at: last.at, run: last.run };
  if (retentionClass === "tombstone") {
    const released = dryRun ? due.size : await releaseIds(store, team.id, due);
    return { counts: { ...EMPTY_SWEEP, released }, next: { after: passed } };
  }
  let counts = EMPTY_SWEEP;
  const onCounts = (added: SweepCounts) => void (counts = addCounts(counts, added));
  const failed = await leaveFaulty(
    due,
    (runs) => dryRun ? wouldSweep(on, retentionClass, runs, onCounts) : sweep(on, runs, onCounts),
  );
  // Checked runs have a new expiry entry by now, except failed ones. A run with very many events
  // may be due again, but not after a step that removed nothing.
  const isPassed = dryRun || failed > 0 || isZero(counts);
  return { counts: { ...counts, failed }, next: { after: isPassed ? passed : after } };
}

/** Sweeps runs; reports the counts of each commit. */
async function sweep(
  { commits, team, nowMs }: Step,
  due: Due,
  onCounts: (counts: SweepCounts) => void,
): Promise<void> {
  const context = { plan: planOfTeam(team), nowMs, rowsMax: ROWS_PER_CHECK };
  const planned = new Map<RunId, SweepCounts>();
  await commits.remove(team.id, [...due.keys()], async (run) => {
    const { change, counts } = await planExpiry(run, context, due.get(run.id) ?? []);
    planned.set(run.id, counts);
    return change;
  }, (runs) => {
    for (const { id } of runs) onCounts(planned.get(id) ?? EMPTY_SWEEP);
  });
}

/** Reports what a sweep of these runs would remove; changes nothing. */
async function wouldSweep(
  { store, team, nowMs }: Step,
  retentionClass: RetentionClass,
  due: Due,
  onCounts: (counts: SweepCounts) => void,
): Promise<void> {
  const context = { plan: planOfTeam(team), nowMs, rowsMax: Infinity };
  const runs = await readHeads({ store, team: team.id }, [...due.keys()]);
  // An outdated expiry entry stays until it is due: the run is counted only under its current
  // entry.
  const current = runs.filter(({ id, head, ledger }) => {
    const entry = expiryEntryOf(head.parts, ledger);
    return entry.retentionClass === retentionClass &&
      due.get(id)?.some(({ at }) => at === entry.since);
  });
  const plans = await Promise.all(current.map((run) => planExpiry(run, context, [])));
  for (const { counts } of plans) onCounts(counts);
}

/** Deletes the tombstones of runs that were deleted long ago; returns how many. */
async function releaseIds(store: Store, team: TeamId, due: Due): Promise<number> {
  const ends = await Promise.allSettled(
    Array.from(due, ([id, entries]) => release({ store, team, id }, entries)),
  );
  // All releases have ended by now, even if one failed: the store may be closed next.
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return ends.filter((end) => end.status === "fulfilled" && end.value).length;
}

async function release(run: RunRef, due: readonly StoredEntry[]): Promise<boolean> {
  const { store, team, id } = run;
  const inserted = insertedKeys(team, id);
  const entries = await getMany(store, inserted);
  const isDeleted = tombstoneOf(entries.map(({ value }) => value)) !== null;
  // The entry of a deletion never shares a row.
  const rows = due.flatMap(({ order, at, value }) => [
    keys.entry(order, at, id),
    ...deletionRows(team, id, value),
  ]);
  const deletes = [...rows, ...isDeleted ? inserted : []];
  // The id stays reserved until its rows are purged.
  const checks = [...entries, { key: keys.purge(team, id), versionstamp: null }];
  return await store.writer.commit({ team, checks, deletes }) !== null && isDeleted;
}

/** Deletes the receipts of customer deletions that finished before an instant. */
async function forgetReceipts(store: Store, team: TeamId, beforeMs: number): Promise<void> {
  const range = { prefix: keys.jobs("deletion", team) };
  const rows = await listRows<CustomerDeletion>(store, range, { limit: RECEIPTS_AT_ONCE });
  const old = rows.filter(({ value: { finishedAt } }) => (finishedAt ?? Infinity) < beforeMs);
  if (old.length > 0) await store.writer.commit({ team, deletes: old.map(({ key }) => key) });
}
