/** `deno task sweep`: what the nightly sweep would remove, removes, or removed. */
import { table } from "./table.ts";
import type { Team } from "../domain/teams/team.ts";
import { planOfTeam } from "../domain/teams/plans.ts";
import { daysKept, type RetentionClass } from "../domain/retention/retention.ts";
import {
  addSwept,
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
  "Removes what the plans of teams keep no longer, now. A running service does so by itself at",
  `${HOUR} and has to be stopped for this; --dry-run and --reports only read, also beside it.`,
  "Ages are judged by this machine's clock, whatever it says, and the service's sweeps go on from there:",
  "look at the date first. The service itself follows a clock by 36 hours a sweep at most.",
  ...LEDGER_HELP,
  "  --dry-run    say what would go, by team, and change nothing",
  "  --reports    list the last sweeps",
  "Exit codes: 0 done, 1 some runs could not be read, 3 no such ledger, or a service has it.",
];

/** Exit codes of the command. */
const EXIT = { done: 0, unread: 1 } as const;

/** Reports that are listed. */
const REPORTS = 14;

const IN_USE = `its service sweeps by itself at ${HOUR}: stop it first, or look with --dry-run`;

/** Runs the command; returns its exit code. */
export function sweep(args: readonly string[], io: Io, now = () => Date.now()): Promise<number> {
  return runCommand(io, HELP, { args: [...args], options: OPTIONS }, async ({ values }) => {
    const { kv, reports, "dry-run": dryRun } = values;
    if (reports && dryRun) throw new UsageError("--dry-run and --reports do not go together");
    if (reports) return await withLedger(kv, (store) => listReports(store, io, now()));
    const tally = dryRun
      ? await withLedger(kv, (store) => look(store, io, now()))
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

/** Counts what would go. */
async function look(store: OpenStore, io: Io, nowMs: number): Promise<Tally> {
  const swept = createSweepStore(store, new RunUpdater(store));
  using tally = new Tally(io, nowMs, await swept.clock());
  for await (const team of swept.teams()) {
    tally.begin(team);
    for await (const step of sweepTeam(swept, team, nowMs, true)) tally.add(step);
  }
  return tally;
}

/** Sweeps as the service does in its night, but without pauses: no other process has the file. */
async function sweepNow(store: OpenStore, io: Io, now: () => number): Promise<Tally> {
  const swept = createSweepStore(store, new RunUpdater(store));
  using tally = new Tally(io, now(), await swept.clock());
  const job = new SweepJob({
    store: swept,
    now,
    processMs: () => performance.now(),
    calls: () => 0,
    log: () => {},
    onStep: (step) => tally.add(step),
  });
  if (await job.sweepNow() !== null) return tally;
  throw new ToolFailure("Another process began to sweep: see how far it is with --reports");
}

/** Counts of removals by team and horizon, and in all. Dispose it before anything is written. */
class Tally implements Disposable {
  readonly #counter;
  readonly #teams = new Map<string, { team: Team; counts: Map<RetentionClass, SweepCounts> }>();
  total = EMPTY_SWEEP;

  /**
   * Counts nothing yet.
   *
   * @param nowMs the instant that ages are judged at
   * @param clock what the service's sweeps have come to; null before the first
   */
  constructor(io: Io, readonly nowMs: number, readonly clock: SweepClock | null) {
    this.#counter = createCounter(io.screen, "runs");
  }

  /** Lists a team, also when nothing of it goes. */
  begin(team: Team) {
    const known = this.#teams.get(team.id) ??
      { team, counts: new Map<RetentionClass, SweepCounts>() };
    this.#teams.set(team.id, known);
    return known;
  }

  add({ team, retentionClass: horizon, counts }: SweptStep): void {
    const known = this.begin(team).counts;
    known.set(horizon, addSwept(known.get(horizon) ?? EMPTY_SWEEP, counts));
    this.total = addSwept(this.total, counts);
    const { events: _, ...runs } = counts;
    this.#counter.add(Object.values(runs).reduce((sum, count) => sum + count, 0));
  }

  lines(): string[] {
    return [...this.#teams.values()].flatMap(({ team, counts }) => {
      const told = [...counts].flatMap(([horizon, of]) => {
        const text = countsText(of);
        const days = daysKept(planOfTeam(team), horizon);
        return text === "" ? [] : [`  ${horizon}, kept ${days} days: ${text}`];
      });
      return [
        `${team.id} (${team.tier}): ${told.length === 0 ? "nothing is due" : ""}`.trimEnd(),
        ...told,
      ];
    });
  }

  [Symbol.dispose](): void {
    this.#counter[Symbol.dispose]();
  }
}

/** Counts in words; the empty text for none. */
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
  const judged = `Judged at ${formatInstant(nowMs)}, by this machine's clock.`;
  if (clock === null) return judged;
  return `${judged} The service's sweeps had come to ${formatInstant(clock.atMs)}.`;
}

function verdict(total: SweepCounts, dryRun: boolean): string {
  const text = countsText(total);
  if (dryRun) return text === "" ? "A sweep would change nothing." : `A sweep would take: ${text}.`;
  return text === "" ? "Nothing was due." : `Swept: ${text}.`;
}

async function listReports(store: OpenStore, io: Io, nowMs: number): Promise<number> {
  const swept = createSweepStore(store, new RunUpdater(store));
  const reports = await swept.reports(REPORTS);
  if (reports.length === 0) io.out(`There was no sweep yet: the service sweeps at ${HOUR}.`);
  else io.out(table(HEAD, reports.map((report) => rowOf(report, nowMs))));
  return EXIT.done;
}

const HEAD = [
  "night",
  "begun",
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
