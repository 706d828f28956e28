/**
 * The store of the sweep: finds due runs by key ranges, a page at a time.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import { planOfTeam } from "../../domain/teams/plans.ts";
import { cutoffOf, expiryEntryOf, type RetentionClass } from "../../domain/retention/retention.ts";
import {
  addSwept,
  EMPTY_SWEEP,
  type ReadReport,
  type SweepClock,
  type SweepClockMove,
  type SweepCounts,
  type SweepReport,
  type SweepStep,
  type SweepStore,
} from "../../domain/retention/sweep.ts";
import type { RunId } from "../../domain/core/ids.ts";
import { deletionRows } from "../feed/feed_rows.ts";
import { keys } from "../base/keys.ts";
import type { RunUpdater } from "../summaries/run_updater.ts";
import { forgetRefusals } from "../refusals/refusal_rows.ts";
import { readHeads, type SummarizedHead } from "../runs/heads.ts";
import { eachRow, getEntry, listRows, type Store } from "../store.ts";
import { forgetSessions } from "../teams/sessions.ts";
import { keyText } from "../writer/group.ts";
import { leaveFaulty } from "./faulty_runs.ts";
import { type ExpiryPlan, planExpiry } from "./plan_expiry.ts";
import { purge, purgeAll } from "./purge.ts";
import { forgetReceipts, releaseIds } from "./release.ts";

/** Runs of one step, about as many as fit into one commit. */
const RUNS_PER_STEP = 40;

/** Payload rows of one run removed in one check; the next check removes more. */
const ROWS_PER_CHECK = 300;

/** Maximum number of stored reports. */
const REPORTS_MAX = 60;

/** Creates the sweep's store; `commits` is shared by all code that changes runs in this process. */
export function createSweepStore(store: Store, commits: RunUpdater): SweepStore {
  return {
    async *teams() {
      for await (const { value } of eachRow<Team>(store, { prefix: keys.teams() })) yield value;
    },
    resume: () => purgeAll(store),
    step: (team, retentionClass, nowMs, from, dryRun) =>
      step({ store, commits, team, retentionClass, nowMs, dryRun }, from as Cursor | null),
    forgetSessions: (nowMs) => forgetSessions(store, nowMs),
    clock: () => readClock(store),
    async startClock(atMs) {
      const key = keys.sweepClock();
      await store.writer.commit({
        checks: [{ key, versionstamp: null }],
        sets: [{ key, value: atMs }],
      });
    },
    report: (night) => readReport(store, night),
    async reports(max) {
      const options = { limit: max, reverse: true };
      const rows = await listRows<SweepReport>(store, { prefix: keys.sweeps() }, options);
      return rows.map(({ value }) => value);
    },
    tell: (previous, report, move) => writeReport(store, previous, report, move),
  };
}

/** Input of one step. */
interface Step {
  readonly store: Store;
  readonly commits: RunUpdater;
  readonly team: Team;
  readonly retentionClass: RetentionClass;
  readonly nowMs: number;
  readonly dryRun: boolean;
}

/** The expiry entries of each due run. */
type Due = ReadonlyMap<RunId, readonly Deno.KvKey[]>;

/** The row after which to continue; null to begin at the first. */
interface Cursor {
  readonly after: Deno.KvKey | null;
}

async function step(on: Step, from: Cursor | null): Promise<SweepStep> {
  const { store, team, retentionClass, nowMs, dryRun } = on;
  const before = cutoffOf(planOfTeam(team), retentionClass, nowMs);
  if (before === -Infinity) return { counts: EMPTY_SWEEP, next: null };
  const after = from?.after ?? null;
  const range = keys.expiries(team.id, retentionClass, before, after);
  const rows = await listRows(store, range, { limit: RUNS_PER_STEP });
  const last = rows.at(-1)?.key;
  if (last === undefined) {
    if (retentionClass === "tombstone" && !dryRun) {
      await forgetReceipts(store, team.id, before);
      await forgetRefusals(store, team.id, nowMs);
    }
    return { counts: EMPTY_SWEEP, next: null };
  }
  const due = Map.groupBy(rows.map(({ key }) => key), (key) => key.at(-1) as RunId);
  if (retentionClass === "tombstone") {
    for (const { key, value } of rows) {
      const run = key.at(-1) as RunId;
      due.get(run)?.push(...deletionRows(team.id, run, value));
    }
    const released = dryRun ? due.size : await releaseIds(store, team.id, due);
    return { counts: { ...EMPTY_SWEEP, released }, next: { after: last } };
  }
  let counts = EMPTY_SWEEP;
  const onCounts = (added: SweepCounts) => void (counts = addSwept(counts, added));
  const work = dryRun ? wouldSweep : sweep;
  const failed = await leaveFaulty(due, (runs) => work(on, runs, onCounts));
  // Checked runs have a new expiry entry by now, except failed ones. A run with very many events
  // may be due again.
  const isPassed = dryRun || failed > 0;
  return { counts: { ...counts, failed }, next: { after: isPassed ? last : after } };
}

/** Sweeps runs; reports the counts of each commit. */
async function sweep(
  { store, commits, team, nowMs }: Step,
  due: Due,
  onCounts: (counts: SweepCounts) => void,
): Promise<void> {
  const context = { team, nowMs, rowsMax: ROWS_PER_CHECK };
  const plans = new Map<RunId, ExpiryPlan>();
  const purged: RunId[] = [];
  const plan = async (run: SummarizedHead) => {
    const expiryPlan = await planExpiry(store, context, run, due.get(run.id) ?? []);
    plans.set(run.id, expiryPlan);
    return expiryPlan.change;
  };
  await commits.remove(team.id, [...due.keys()], plan, (runs) => {
    for (const { id } of runs) {
      const expiryPlan = plans.get(id);
      if (expiryPlan === undefined) continue;
      onCounts(expiryPlan.counts);
      if (expiryPlan.isPurged) purged.push(id);
    }
  });
  for (const id of purged) await purge(store, team.id, id);
}

/** Reports what a sweep of these runs would remove; changes nothing. */
async function wouldSweep(
  { store, team, nowMs }: Step,
  due: Due,
  onCounts: (counts: SweepCounts) => void,
): Promise<void> {
  const context = { team, nowMs, rowsMax: Infinity };
  const runs = await readHeads(store, team.id, [...due.keys()]);
  // An outdated expiry entry stays until it is due: the run is counted only under its current
  // entry.
  const current = runs.filter(({ id, head, ledger }) => {
    const entryKey = keyText(keys.expiry(team.id, expiryEntryOf(head.parts, ledger), id));
    return due.get(id)?.some((row) => keyText(row) === entryKey);
  });
  const plans = await Promise.all(current.map((run) => planExpiry(store, context, run, [])));
  for (const { counts } of plans) onCounts(counts);
}

async function readClock(store: Store): Promise<SweepClock | null> {
  const { value, versionstamp } = await getEntry(store, keys.sweepClock());
  return versionstamp === null ? null : { atMs: value as number, version: versionstamp };
}

async function readReport(store: Store, night: string): Promise<ReadReport | null> {
  const { value, versionstamp } = await getEntry(store, keys.sweep(night));
  return versionstamp === null ? null : { report: value as SweepReport, version: versionstamp };
}

async function writeReport(
  store: Store,
  previous: ReadReport | null,
  report: SweepReport,
  move: SweepClockMove | undefined,
): Promise<ReadReport | null> {
  const key = keys.sweep(report.night);
  const clock = keys.sweepClock();
  const old = report.finishedAt === null ? [] : await oldReports(store);
  const version = await store.writer.commit({
    checks: [
      { key, versionstamp: previous?.version ?? null },
      ...move === undefined ? [] : [{ key: clock, versionstamp: move.from?.version ?? null }],
    ],
    sets: [
      { key, value: report },
      ...move === undefined ? [] : [{ key: clock, value: move.toMs }],
    ],
    deletes: old,
  });
  return version === null ? null : { report, version };
}

async function oldReports(store: Store): Promise<Deno.KvKey[]> {
  const rows = await listRows(store, { prefix: keys.sweeps() });
  return rows.slice(0, Math.max(0, rows.length - REPORTS_MAX)).map(({ key }) => key);
}
