/**
 * The sweep in the store: finding runs that are due by ranges of keys, some at a time.
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

/** Runs of one step: those of one commit, more or less. */
const RUNS_PER_STEP = 40;

/** Rows of one run's payload that go at once; of more the rest goes with the next look at it. */
const ROWS_PER_LOOK = 300;

/** Reports that are kept. */
const REPORTS_MAX = 60;

/** Creates the sweep's store; `commits` is shared with whoever else changes runs in this process. */
export function createSweepStore(store: Store, commits: RunUpdater): SweepStore {
  return {
    async *teams() {
      for await (const { value } of eachRow<Team>(store, { prefix: keys.teams() })) yield value;
    },
    resume: () => purgeAll(store),
    step: (team, horizon, nowMs, from, dryRun) =>
      step({ store, commits, team, horizon, nowMs, dryRun }, from as Cursor | null),
    forgetSessions: (nowMs, from) => forgetSessions(store, nowMs, from as Cursor | null),
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
    tell: (known, report, move) => tell(store, known, report, move),
  };
}

/** What one step works on. */
interface Step {
  readonly store: Store;
  readonly commits: RunUpdater;
  readonly team: Team;
  readonly horizon: RetentionClass;
  readonly nowMs: number;
  readonly dryRun: boolean;
}

/** The rows that a run was found under. */
type Due = ReadonlyMap<RunId, readonly Deno.KvKey[]>;

/** Behind which row to look; null for from the first. */
interface Cursor {
  readonly after: Deno.KvKey | null;
}

async function step(on: Step, from: Cursor | null): Promise<SweepStep> {
  const { store, team, horizon, nowMs, dryRun } = on;
  const before = cutoffOf(planOfTeam(team), horizon, nowMs);
  if (before === -Infinity) return { counts: EMPTY_SWEEP, next: null };
  const after = from?.after ?? null;
  const range = keys.expiries(team.id, horizon, before, after);
  const rows = await listRows(store, range, { limit: RUNS_PER_STEP });
  const last = rows.at(-1)?.key;
  if (last === undefined) {
    if (horizon === "tombstone" && !dryRun) {
      await forgetReceipts(store, team.id, before);
      await forgetRefusals(store, team.id, nowMs);
    }
    return { counts: EMPTY_SWEEP, next: null };
  }
  const due = Map.groupBy(rows.map(({ key }) => key), (key) => key.at(-1) as RunId);
  if (horizon === "tombstone") {
    for (const { key, value } of rows) {
      const run = key.at(-1) as RunId;
      due.get(run)?.push(...deletionRows(team.id, run, value));
    }
    const released = dryRun ? due.size : await releaseIds(store, team.id, due);
    return { counts: { ...EMPTY_SWEEP, released }, next: { after: last } };
  }
  let counts = EMPTY_SWEEP;
  const tell = (some: SweepCounts) => void (counts = addSwept(counts, some));
  const work = dryRun ? wouldSweep : sweep;
  const failed = await leaveFaulty(due, (some) => work(on, some, tell));
  // Whatever was looked at is filed elsewhere by now, but for what failed; and a run with very many
  // events may be due again.
  const isPassed = dryRun || failed > 0;
  return { counts: { ...counts, failed }, next: { after: isPassed ? last : after } };
}

/** Sweeps runs, and tells what of it is committed. */
async function sweep(
  { store, commits, team, nowMs }: Step,
  due: Due,
  tell: (counts: SweepCounts) => void,
): Promise<void> {
  const looking = { team, nowMs, rowsMax: ROWS_PER_LOOK };
  const looks = new Map<RunId, ExpiryPlan>();
  const purged: RunId[] = [];
  const plan = async (run: SummarizedHead) => {
    const look = await planExpiry(store, looking, run, due.get(run.id) ?? []);
    looks.set(run.id, look);
    return look.change;
  };
  await commits.remove(team.id, [...due.keys()], plan, (runs) => {
    for (const { id } of runs) {
      const look = looks.get(id);
      if (look === undefined) continue;
      tell(look.counts);
      if (look.isPurged) purged.push(id);
    }
  });
  for (const id of purged) await purge(store, team.id, id);
}

/** Tells what sweeping runs would remove, and changes nothing. */
async function wouldSweep(
  { store, team, nowMs }: Step,
  due: Due,
  tell: (counts: SweepCounts) => void,
): Promise<void> {
  const looking = { team, nowMs, rowsMax: Infinity };
  const runs = await readHeads(store, team.id, [...due.keys()]);
  // A row of how a run was filed before stays until it is due: the run counts where it is filed now.
  const here = runs.filter(({ id, head, ledger }) => {
    const filed = keyText(keys.expiry(team.id, expiryEntryOf(head.parts, ledger), id));
    return due.get(id)?.some((row) => keyText(row) === filed);
  });
  const looks = await Promise.all(here.map((run) => planExpiry(store, looking, run, [])));
  for (const { counts } of looks) tell(counts);
}

async function readClock(store: Store): Promise<SweepClock | null> {
  const { value, versionstamp } = await getEntry(store, keys.sweepClock());
  return versionstamp === null ? null : { atMs: value as number, version: versionstamp };
}

async function readReport(store: Store, night: string): Promise<ReadReport | null> {
  const { value, versionstamp } = await getEntry(store, keys.sweep(night));
  return versionstamp === null ? null : { report: value as SweepReport, version: versionstamp };
}

async function tell(
  store: Store,
  known: ReadReport | null,
  report: SweepReport,
  move: SweepClockMove | undefined,
): Promise<ReadReport | null> {
  const key = keys.sweep(report.night);
  const clock = keys.sweepClock();
  const old = report.finishedAt === null ? [] : await oldReports(store);
  const version = await store.writer.commit({
    checks: [
      { key, versionstamp: known?.version ?? null },
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
