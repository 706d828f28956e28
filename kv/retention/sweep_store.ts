/**
 * The sweep in the store: finding runs that are due by ranges of keys, some at a time.
 *
 * @module
 */
import type { Team } from "../../domain/credentials.ts";
import { StorageUnavailable } from "../../domain/errors.ts";
import { cutoffOf, type Horizon } from "../../domain/retention/retention.ts";
import {
  addSwept,
  NOTHING_SWEPT,
  type ReadReport,
  type SweepCounts,
  type SweepReport,
  type SweepStep,
  type SweepStore,
} from "../../domain/retention/sweep.ts";
import type { RunId } from "../../domain/run/ids.ts";
import { keys } from "../keys.ts";
import type { TeamCommits } from "../pipeline/team_commits.ts";
import { readHeads, type SummarizedHead } from "../runs/heads.ts";
import { eachRow, getMany, listRows, type Store } from "../store.ts";
import { type Look, lookAt } from "./look.ts";
import { purge, purgeAll } from "./purge.ts";
import { forgetReceipts, releaseIds } from "./release.ts";

/** Runs of one step: those of one commit, more or less. */
const RUNS_PER_STEP = 40;

/** Reports that are kept. */
const REPORTS_MAX = 60;

/** Creates the sweep's store; `commits` is shared with whoever else changes runs in this process. */
export function createSweepStore(store: Store, commits: TeamCommits): SweepStore {
  return {
    async *teams() {
      for await (const { value } of eachRow<Team>(store, { prefix: keys.teams() })) yield value;
    },
    resume: () => purgeAll(store),
    step: (team, horizon, nowMs, from, dryRun) =>
      step({ store, commits, team, horizon, nowMs, dryRun }, from as Cursor | null),
    report: (night) => readReport(store, night),
    async reports(max) {
      const options = { limit: max, reverse: true };
      const rows = await listRows<SweepReport>(store, { prefix: keys.sweeps() }, options);
      return rows.map(({ value }) => value);
    },
    tell: (known, report) => tell(store, known, report),
  };
}

/** What one step works on. */
interface Step {
  readonly store: Store;
  readonly commits: TeamCommits;
  readonly team: Team;
  readonly horizon: Horizon;
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
  const before = cutoffOf(team.tier, horizon, nowMs);
  if (before === -Infinity) return { counts: NOTHING_SWEPT, next: null };
  const after = from?.after ?? null;
  const range = keys.expiries(team.id, horizon, before, after);
  const rows = await listRows(store, range, { limit: RUNS_PER_STEP });
  const last = rows.at(-1)?.key;
  if (last === undefined) {
    if (horizon === "tombstone" && !dryRun) await forgetReceipts(store, team.id, before);
    return { counts: NOTHING_SWEPT, next: null };
  }
  const due = Map.groupBy(rows.map(({ key }) => key), (key) => key.at(-1) as RunId);
  if (horizon === "tombstone") {
    const released = dryRun ? due.size : await releaseIds(store, team.id, due);
    return { counts: { ...NOTHING_SWEPT, released }, next: { after: last } };
  }
  const counts = dryRun ? await wouldSweep(on, due) : await sweep(on, due);
  // Whatever was looked at is filed elsewhere by now, but for what failed; and a run with very many
  // events may be due again.
  const isPassed = dryRun || counts.failed > 0;
  return { counts, next: { after: isPassed ? last : after } };
}

/** Sweeps runs together; where that fails, one by one, so that only those at fault stay. */
async function sweep(on: Step, due: Due): Promise<SweepCounts> {
  try {
    return await sweepTogether(on, due);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    if (due.size === 1) return { ...NOTHING_SWEPT, failed: 1 };
    let counts = NOTHING_SWEPT;
    for (const one of due) counts = addSwept(counts, await sweep(on, new Map([one])));
    return counts;
  }
}

async function sweepTogether(
  { store, commits, team, nowMs }: Step,
  due: Due,
): Promise<SweepCounts> {
  const looks = new Map<RunId, Look>();
  let counts = NOTHING_SWEPT;
  const purged: RunId[] = [];
  const plan = async (run: SummarizedHead) => {
    const look = await lookAt(store, team, run, due.get(run.id) ?? [], nowMs);
    looks.set(run.id, look);
    return look.change;
  };
  await commits.change(team.id, [...due.keys()], plan, (runs) => {
    for (const { id } of runs) {
      const look = looks.get(id);
      if (look === undefined) continue;
      counts = addSwept(counts, look.counts);
      if (look.isPurged) purged.push(id);
    }
  });
  for (const id of purged) await purge(store, team.id, id);
  return counts;
}

/** What sweeping runs would remove. */
async function wouldSweep({ store, team, nowMs }: Step, due: Due): Promise<SweepCounts> {
  const runs = await readHeads(store, team.id, [...due.keys()]);
  const looks = await Promise.all(
    runs.map((run) => lookAt(store, team, run, due.get(run.id) ?? [], nowMs)),
  );
  return looks.reduce((sum, { counts }) => addSwept(sum, counts), NOTHING_SWEPT);
}

async function readReport(store: Store, night: string): Promise<ReadReport | null> {
  const [entry] = await getMany(store, [keys.sweep(night)]);
  if (entry === undefined || entry.versionstamp === null) return null;
  return { report: entry.value as SweepReport, version: entry.versionstamp };
}

async function tell(
  store: Store,
  known: ReadReport | null,
  report: SweepReport,
): Promise<ReadReport | null> {
  const key = keys.sweep(report.night);
  const old = report.finishedAt === null ? [] : await oldReports(store);
  const version = await store.writer.commit({
    checks: [{ key, versionstamp: known?.version ?? null }],
    sets: [{ key, value: report }],
    deletes: old,
  });
  return version === null ? null : { report, version };
}

async function oldReports(store: Store): Promise<Deno.KvKey[]> {
  const rows = await listRows(store, { prefix: keys.sweeps() });
  return rows.slice(0, Math.max(0, rows.length - REPORTS_MAX)).map(({ key }) => key);
}
