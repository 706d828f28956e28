/**
 * `deno task assure NAME`: runs the long forms of the adversarial harnesses; see
 * docs/RELIABILITY.md.
 */
import { type Io, processIo, runTool, UsageError } from "../../tools/command.ts";
import { optionsOf } from "./assurance.ts";
import { HARNESSES, isHarness, listHarnesses } from "./harnesses.ts";

const USAGE = [
  "deno task assure NAME [--seed=N] [--count=N] [PART…] [--list] [--json=FILE] [--record]",
  "  --seed     repeats a run; --count sets its size (units are listed below)",
  "  PART       runs only these faults, attacks or mutants; --list shows the names",
  "  --json     writes the lines of the workload to a file",
  "  --record   stores what the workload found, to compare later runs with",
  "Exit codes: 0 every promise was kept, 1 a promise was broken, 2 wrong command line.",
  "",
];

async function main([name, ...args]: readonly string[], io: Io): Promise<number> {
  return await runTool(io, async () => {
    if (name === undefined || name === "--help") {
      USAGE.forEach((line) => io.out(line));
      io.out(listHarnesses());
      return 0;
    }
    if (!isHarness(name)) {
      throw new UsageError(`There is no harness "${name}": deno task assure lists them`);
    }
    const harness = HARNESSES[name];
    const options = optionsOf(harness, args);
    const { run } = await harness.load();
    return await run(options, io) ? 0 : 1;
  });
}

if (import.meta.main) Deno.exit(await main(Deno.args, processIo()));
