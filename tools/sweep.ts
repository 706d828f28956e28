/** `deno task sweep`: runs the sweep, previews it, or lists past sweeps. */
import { addCounts } from "../domain/core/sums.ts";
import { table } from "./table.ts";
import type { Team } from "../domain/teams/team.ts";
import { planOfTeam } from "../domain/teams/plans.ts";
import {
  daysKept,
  EMPTY_SWEEP,
  isSweepDue,
  type RetentionClass,
  SWEEP_HOUR,
  type SweepCounts,
  type SweepReport,
} from "../domain/retention/retention.ts";
import { formatInstant } from "../domain/core/time.ts";
import { sweepTeam, SweepWork, type SweptStep } from "../kv/retention/sweep_work.ts";
import { openLocked, type OpenStore, openUnlocked } from "../kv/open.ts";
import { StoreInUse } from "../kv/refused.ts";
import { TeamCommit } from "../kv/summaries/team_commit.ts";
import { createSweepStore, type SweepStore } from "../kv/retention/sweep_store.ts";
import { LEDGER_HELP, LEDGER_OPTIONS, withLedger } from "./ledger_file.ts";
import {
  countText,
  createProgress,
  type Io,
  processIo,
  type Progress,
  runCommand,
  ToolFailure,
  UsageError,
} from "./command.ts";

const HOUR = `${String(SWEEP_HOUR).padStart(2, "0")}:00 UTC`;

const HELP = [
  "deno task sweep [--kv=FILE] [--dry-run | --reports]",
  "Removes data that has exceeded the retention of its team's plan. The service sweeps daily at",
  `${HOUR}; stop it first. --dry-run and --reports only read and work while it runs.`,
  "Ages are calculated with this machine's clock, and the service's next sweeps continue from there:",
  "check the date first. The service itself advances its clock by at most 36 hours a sweep.",
  ...LEDGER_HELP,
  "  --dry-run    list what would be removed, by team, and change nothing",
  "  --reports    list the last sweeps",
  "Exit codes: 0 done, 1 some runs could not be read, 3 ledger missing or in use.",
];

/** Exit codes of the command. */
const EXIT = { done: 0, unread: 1 } as const;

/** Maximum number of reports listed. */
const REPORTS = 14;

const ADVICE = `its service sweeps daily at ${HOUR}: stop it first, or use --dry-run`;

/** Opens a ledger that no service has open. */
function openAlone(location: string): Promise<OpenStore> {
  return openLocked(location).catch((error) => {
    throw error instanceof StoreInUse ? new StoreInUse(location, error.owner, ADVICE) : error;
  });
}

/** Counts of a sweep: their column in a table of sweeps, and their text. */
const COUNTS: readonly [keyof SweepCounts, column: string, text: (count: number) => string][] = [
  ["payloads", "payloads", (count) => `payload of ${countText(count, "run")}`],
  ["events", "events", (count) => countText(count, "event")],
  ["records", "records", (count) => `record of ${countText(count, "run")}`],
  ["orphans", "orphans", (count) => `${countText(count, "run")} without an opening`],
  ["released", "ids freed", (count) => `${countText(count, "id")} free again`],
  ["failed", "not readable", (count) => `${countText(count, "run")} not readable`],
];

/** Runs the command; returns its exit code. */
export function sweep(args: readonly string[], io: Io, now = () => Date.now()): Promise<number> {
  const options = {
    ...LEDGER_OPTIONS,
    "dry-run": { type: "boolean", default: false },
    reports: { type: "boolean", default: false },
  } as const;
  return runCommand(io, HELP, { args: [...args], options }, async ({ values }) => {
    const { kv, reports, "dry-run": dryRun } = values;
    if (reports && dryRun) throw new UsageError("--dry-run and --reports exclude each other");
    return await withLedger(kv, async (ledger) => {
      const store = createSweepStore(ledger, new TeamCommit(ledger, null));
      if (reports) return await listReports(store, io, now());
      using progress = createProgress(io.screen, "runs");
      const [nowMs, clock, counter] = [now(), await store.clock(), new SweepCounter(progress)];
      if (dryRun) await preview(store, nowMs, counter);
      else await sweepNow(store, now, counter);
      progress[Symbol.dispose]();
      const latest = clock === null
        ? ""
        : ` The service's sweep clock is at ${formatInstant(clock.atMs)}.`;
      io.out(`Ages as of ${formatInstant(nowMs)}, by this machine's clock.${latest}`);
      counter.lines(dryRun).forEach((line) => io.out(line));
      return counter.total.failed === 0 ? EXIT.done : EXIT.unread;
    }, reports || dryRun ? openUnlocked : openAlone);
  });
}

/** Counts what a sweep would remove. */
async function preview(store: SweepStore, nowMs: number, counter: SweepCounter): Promise<void> {
  for await (const team of store.teams(null)) {
    for await (const step of sweepTeam(store, team, nowMs, true)) counter.add(step);
  }
}

/** Sweeps as the service does at night, but without pauses: no other process has the file open. */
async function sweepNow(
  store: SweepStore,
  now: () => number,
  counter: SweepCounter,
): Promise<void> {
  const processMs = () => performance.now();
  const onStep = (step: SweptStep) => counter.add(step);
  const work = new SweepWork({ store, now, processMs, log: () => {}, onStep });
  if (await work.sweepNow() !== null) return;
  throw new ToolFailure("Another process has started a sweep: see its progress with --reports");
}

/** Counts removals by team and retention class, and in total. */
class SweepCounter {
  readonly #teams = new Map<string, { team: Team; counts: Map<RetentionClass, SweepCounts> }>();
  total = EMPTY_SWEEP;

  constructor(readonly progress: Progress) {}

  /** Adds a step; one without removals lists its team. */
  add({ team, retentionClass, counts }: SweptStep): void {
    const entry = this.#teams.get(team.id) ?? { team, counts: new Map() };
    this.#teams.set(team.id, entry);
    const sums = entry.counts;
    sums.set(retentionClass, addCounts(sums.get(retentionClass) ?? EMPTY_SWEEP, counts));
    this.total = addCounts(this.total, counts);
    const { events: _, ...runs } = counts;
    this.progress.step(Object.values(runs).reduce((sum, count) => sum + count, 0));
  }

  /** Formats the counts of each team, and the total. */
  lines(dryRun: boolean): string[] {
    const teams = [...this.#teams.values()].flatMap(({ team, counts }) => {
      const details = [...counts].flatMap(([retentionClass, of]) => {
        const text = countsText(of);
        const days = daysKept(planOfTeam(team), retentionClass);
        return text === "" ? [] : [`  ${retentionClass}, kept ${days} days: ${text}`];
      });
      return [
        `${team.id} (${team.tier}): ${details.length === 0 ? "nothing is due" : ""}`.trimEnd(),
        ...details,
      ];
    });
    const text = countsText(this.total);
    const nothing = dryRun ? "A sweep would change nothing." : "Nothing was due.";
    const verdict = `${dryRun ? "A sweep would remove" : "Swept"}: ${text}.`;
    return [...teams, text === "" ? nothing : verdict];
  }
}

/** Formats counts; the empty text for none. */
function countsText(counts: SweepCounts): string {
  return COUNTS.filter(([key]) => counts[key] > 0).map(([key, , text]) => text(counts[key]))
    .join(", ");
}

async function listReports(store: SweepStore, io: Io, nowMs: number): Promise<number> {
  const reports = await store.reports(REPORTS);
  const head = ["night", "started", "took", "teams", ...COUNTS.map(([, column]) => column)];
  const rows = reports.map((report) => {
    const { night, startedAt, teams, counts } = report;
    const numbers = [teams, ...COUNTS.map(([key]) => counts[key])];
    return [night, formatInstant(startedAt), stateOf(report, nowMs), ...numbers.map(String)];
  });
  const none = `No sweeps yet: the service sweeps daily at ${HOUR}.`;
  io.out(rows.length === 0 ? none : table(head, rows));
  return EXIT.done;
}

function stateOf(report: SweepReport, nowMs: number): string {
  const { startedAt, finishedAt } = report;
  if (finishedAt !== null) return `${((finishedAt - startedAt) / 1000).toFixed(1)} s`;
  return isSweepDue(report, nowMs) ? "broken off" : "under way";
}

if (import.meta.main) Deno.exit(await sweep(Deno.args, processIo()));
