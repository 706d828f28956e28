/** `deno task sweep`: runs the sweep, previews it, or lists past sweeps. */
import { addCounts } from "../domain/core/sums.ts";
import { table } from "./table.ts";
import type { Team } from "../domain/teams/team.ts";
import { planOfTeam } from "../domain/teams/plans.ts";
import { daysKept, type RetentionClass } from "../domain/retention/retention.ts";
import {
  EMPTY_SWEEP,
  isSweepDue,
  SWEEP_HOUR,
  type SweepClock,
  type SweepCounts,
  type SweepReport,
} from "../domain/retention/sweep.ts";
import { formatInstant } from "../domain/core/time.ts";
import { SweepJob, sweepTeam, type SweptStep } from "../jobs/sweep.ts";
import type { OpenStore } from "../kv/open.ts";
import { RunUpdater } from "../kv/summaries/run_updater.ts";
import { createSweepStore } from "../kv/retention/sweep_store.ts";
import { LEDGER_HELP, LEDGER_OPTIONS, withLedger, withOwnLedger } from "./ledger_file.ts";
import {
  countText,
  createCounter,
  type Io,
  processIo,
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

const IN_USE = `its service sweeps daily at ${HOUR}: stop it first, or use --dry-run`;

/** Runs the command; returns its exit code. */
export function sweep(args: readonly string[], io: Io, now = () => Date.now()): Promise<number> {
  return runCommand(io, HELP, { args: [...args], options: OPTIONS }, async ({ values }) => {
    const { kv, reports, "dry-run": dryRun } = values;
    if (reports && dryRun) throw new UsageError("--dry-run and --reports exclude each other");
    if (reports) return await withLedger(kv, (store) => listReports(store, io, now()));
    const tally = dryRun
      ? await withLedger(kv, (store) => dryRunOf(store, io, now()))
      : await withOwnLedger(kv, IN_USE, (store) => sweepNow(store, io, now));
    io.out(clockLine(tally));
    tally.lines().forEach((line) => io.out(line));
    io.out(verdict(tally.total, dryRun));
    return tally.total.failed === 0 ? EXIT.done : EXIT.unread;
  });
}

const OPTIONS = {
  ...LEDGER_OPTIONS,
  "dry-run": { type: "boolean", default: false },
  reports: { type: "boolean", default: false },
} as const;

/** Counts what a sweep would remove. */
async function dryRunOf(store: OpenStore, io: Io, nowMs: number): Promise<Tally> {
  const sweepStore = createSweepStore(store, new RunUpdater(store));
  using tally = new Tally(io, nowMs, await sweepStore.clock());
  for await (const team of sweepStore.teams()) {
    tally.begin(team);
    for await (const step of sweepTeam(sweepStore, team, nowMs, true)) tally.add(step);
  }
  return tally;
}

/** Sweeps as the service does at night, but without pauses: no other process has the file open. */
async function sweepNow(store: OpenStore, io: Io, now: () => number): Promise<Tally> {
  const sweepStore = createSweepStore(store, new RunUpdater(store));
  using tally = new Tally(io, now(), await sweepStore.clock());
  const job = new SweepJob({
    store: sweepStore,
    now,
    processMs: () => performance.now(),
    calls: () => 0,
    log: () => {},
    onStep: (step) => tally.add(step),
  });
  if (await job.sweepNow() !== null) return tally;
  throw new ToolFailure("Another process has started a sweep: see its progress with --reports");
}

/**
 * Counts removals by team and retention class, and in total. Dispose it before anything is written.
 */
class Tally implements Disposable {
  readonly #counter;
  readonly #teams = new Map<string, { team: Team; counts: Map<RetentionClass, SweepCounts> }>();
  total = EMPTY_SWEEP;

  /**
   * @param nowMs instant to which ages are calculated
   * @param clock the instant of the service's latest sweep; null before the first
   */
  constructor(io: Io, readonly nowMs: number, readonly clock: SweepClock | null) {
    this.#counter = createCounter(io.screen, "runs");
  }

  /** Lists a team, even if nothing of it is removed. */
  begin(team: Team) {
    const entry = this.#teams.get(team.id) ??
      { team, counts: new Map<RetentionClass, SweepCounts>() };
    this.#teams.set(team.id, entry);
    return entry;
  }

  add({ team, retentionClass, counts }: SweptStep): void {
    const countsOfTeam = this.begin(team).counts;
    countsOfTeam.set(
      retentionClass,
      addCounts(countsOfTeam.get(retentionClass) ?? EMPTY_SWEEP, counts),
    );
    this.total = addCounts(this.total, counts);
    const { events: _, ...runs } = counts;
    this.#counter.step(Object.values(runs).reduce((sum, count) => sum + count, 0));
  }

  lines(): string[] {
    return [...this.#teams.values()].flatMap(({ team, counts }) => {
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
  }

  [Symbol.dispose](): void {
    this.#counter[Symbol.dispose]();
  }
}

/** Formats counts; the empty text for none. */
function countsText({ payloads, events, records, orphans, released, failed }: SweepCounts): string {
  const parts: [number, string][] = [
    [payloads, `payload of ${countText(payloads, "run")}`],
    [events, countText(events, "event")],
    [records, `record of ${countText(records, "run")}`],
    [orphans, `${countText(orphans, "run")} without an opening`],
    [released, `${countText(released, "id")} free again`],
    [failed, `${countText(failed, "run")} not readable`],
  ];
  return parts.flatMap(([count, text]) => count === 0 ? [] : [text]).join(", ");
}

function clockLine({ nowMs, clock }: Tally): string {
  const ages = `Ages as of ${formatInstant(nowMs)}, by this machine's clock.`;
  if (clock === null) return ages;
  return `${ages} The service's sweep clock is at ${formatInstant(clock.atMs)}.`;
}

function verdict(total: SweepCounts, dryRun: boolean): string {
  const text = countsText(total);
  if (dryRun) {
    return text === "" ? "A sweep would change nothing." : `A sweep would remove: ${text}.`;
  }
  return text === "" ? "Nothing was due." : `Swept: ${text}.`;
}

async function listReports(store: OpenStore, io: Io, nowMs: number): Promise<number> {
  const sweepStore = createSweepStore(store, new RunUpdater(store));
  const reports = await sweepStore.reports(REPORTS);
  if (reports.length === 0) io.out(`No sweeps yet: the service sweeps daily at ${HOUR}.`);
  else io.out(table(HEAD, reports.map((report) => rowOf(report, nowMs))));
  return EXIT.done;
}

const HEAD = [
  "night",
  "started",
  "took",
  "teams",
  "payloads",
  "events",
  "records",
  "orphans",
  "ids freed",
  "not readable",
];

function rowOf(report: SweepReport, nowMs: number): string[] {
  const { night, startedAt, teams, counts } = report;
  const { payloads, events, records, orphans, released, failed } = counts;
  const numbers = [teams, payloads, events, records, orphans, released, failed];
  return [night, formatInstant(startedAt), stateOf(report, nowMs), ...numbers.map(String)];
}

function stateOf(report: SweepReport, nowMs: number): string {
  const { startedAt, finishedAt } = report;
  if (finishedAt !== null) return `${((finishedAt - startedAt) / 1000).toFixed(1)} s`;
  return isSweepDue(report, nowMs) ? "broken off" : "under way";
}

if (import.meta.main) Deno.exit(await sweep(Deno.args, processIo()));
