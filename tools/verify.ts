/** `deno task verify`: recomputes every stored total from the parts of its runs. */
import {
  type IntegrityReport,
  type TeamIntegrity,
  verifyStore,
} from "../kv/integrity/integrity.ts";
import { LEDGER_HELP, LEDGER_OPTIONS, withLedger } from "./ledger_file.ts";
import { countText, createProgress, type Io, processIo, runCommand } from "./command.ts";

const HELP = [
  "deno task verify [--kv=FILE]",
  "Recomputes the totals of every run and compares ledgers, summaries, roll-ups, usage counters,",
  "counts of agents, and the index of runs. It only reads, and works while the service runs.",
  ...LEDGER_HELP,
  "Exit codes: 0 exact, 1 differences, 3 no such ledger, 4 a team changed too often to compare.",
];

/** Exit codes of the command. */
const EXIT = { exact: 0, different: 1, busy: 4 } as const;

/** Runs the command; returns its exit code. */
export function verify(args: readonly string[], io: Io): Promise<number> {
  const config = { args: [...args], options: LEDGER_OPTIONS };
  return runCommand(io, HELP, config, async ({ values }) => {
    return await withLedger(values.kv, async (store, location) => {
      using runs = createProgress(io.screen, "runs");
      const result = await verifyStore(store, { onRun: () => runs.step() });
      runs[Symbol.dispose]();
      result.teams.map(teamLine).forEach((line) => io.out(line));
      printDifferences(result, io);
      io.out(verdict(result, location));
      if (result.differenceCount > 0) return EXIT.different;
      return result.teams.some(({ state }) => state === "busy") ? EXIT.busy : EXIT.exact;
    });
  });
}

function teamLine({ team, state, runs, events, differences }: TeamIntegrity): string {
  const result = state === "different" ? countText(differences, "difference") : state;
  return `${team}: ${result}, ${countText(runs, "run")}, ${countText(events, "event")}`;
}

function printDifferences({ differences, differenceCount }: IntegrityReport, io: Io): void {
  for (const { team, what, expected, stored } of differences) {
    io.out(`  ${team}: ${what}`);
    io.out(`    expected: ${expected}`);
    io.out(`    stored:   ${stored}`);
  }
  const more = differenceCount - differences.length;
  if (more > 0) io.out(`  and ${countText(more, "difference")} more`);
}

function verdict({ teams, differenceCount }: IntegrityReport, location: string): string {
  if (differenceCount > 0) {
    return `${countText(differenceCount, "difference")} in ${location}: keep a copy of the file, ` +
      "see docs/DATA.md";
  }
  const busy = teams.filter(({ state }) => state === "busy").length;
  if (busy > 0) {
    return `${countText(busy, "team")} changed meanwhile, or changes wait for the worker: ` +
      "let a service finish its queue, then verify again";
  }
  return `${location} is exact: every total equals the sum of its parts`;
}

if (import.meta.main) Deno.exit(await verify(Deno.args, processIo()));
