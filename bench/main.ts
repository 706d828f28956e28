/** `deno task bench`: measures the service and compares it with the bars of bench/README.md. */
import { type Io, processIo, runCommand, UsageError } from "../tools/command.ts";
import { isInstalled } from "../tests/support/harness/commands.ts";
import { describeMachine, endAll } from "./process.ts";
import { barTable, type Bench, type BenchOptions, print } from "./report.ts";

/** Summaries of the benchmarks by name; the module of this name has the benchmark. */
const BENCHES: Readonly<Record<string, string>> = {
  sustained: "runs, heartbeats and pings until their backlog is empty: sustained [CHECKOUT]",
  writes: "rows, bytes and syncs of runs, heartbeats and pings",
  shared: "services over a shared KV next to a file: --connections=64",
  volume: "size, reads and opens of a ledger of --runs=2000000",
  work: "10,000 monitors due in one minute, and a delivery behind 100,000 due runs",
  guard: "budgets: the wait of questions, and CPU of heartbeats with 20 of them and without",
  traces: "CPU microseconds of a run from spans next to one from three JSON requests",
  cpu: "CPU microseconds a call against another checkout: cpu CHECKOUT",
};

const HELP = [
  "deno task bench [NAME] [CHECKOUT] [--rounds=N] [--seconds=N] [--runs=N]",
  "                [--connections=N] [--only=NAME,…] [--quick]",
  ...Object.entries(BENCHES).map(([name, summary]) => `  ${name.padEnd(12)}${summary}`),
  "Without a name: sustained.",
  "  --quick               sustained or shared in one short round, about a minute",
  "  --only=NAME,…         calls of cpu; setups of shared: file, or services and round trip as in 3-20ms",
  "  --rounds, --seconds   number and length of the measurements",
  "Exit codes: 0 all bars are met, 1 one is missed, 2 invalid command line, or wrk is not installed.",
];

const OPTIONS = {
  rounds: { type: "string" },
  seconds: { type: "string" },
  runs: { type: "string" },
  connections: { type: "string" },
  only: { type: "string", default: "" },
  quick: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

/** Exit code of a process that SIGINT ended. */
const INTERRUPTED = 130;

/** Runs the command; returns its exit code. */
function runBench(args: readonly string[], io: Io): Promise<number> {
  const config = { args: [...args], options: OPTIONS, allowPositionals: true as const };
  return runCommand(io, HELP, config, ({ values, positionals }) => {
    const { only, quick } = values;
    const [name = "sustained", checkout] = positionals;
    if (!Object.hasOwn(BENCHES, name)) {
      throw new UsageError(`Unknown benchmark "${name}": --help lists the benchmarks`);
    }
    const counts = (["rounds", "seconds", "runs", "connections"] as const).map((option) => {
      const text = values[option];
      if (text === undefined || /^[1-9]\d*$/.test(text)) return [option, text && Number(text)];
      throw new UsageError(`--${option} takes a number above 0: got ${text}`);
    });
    return measureBars(name, {
      ...Object.fromEntries(counts),
      only: only.split(",").filter((part) => part !== ""),
      quick,
      checkout,
    });
  });
}

async function measureBars(name: string, options: Omit<BenchOptions, "folder">): Promise<number> {
  if (!isInstalled("wrk")) {
    throw new UsageError("wrk is not installed: apt install wrk, or brew install wrk");
  }
  const folder = await Deno.makeTempDir({ prefix: "runledger-bench-" });
  const cleanUp = () => {
    endAll();
    Deno.removeSync(folder, { recursive: true });
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => {
      cleanUp();
      Deno.exit(INTERRUPTED);
    });
  }
  try {
    print(`${await describeMachine(folder)}\n`);
    const { bench }: { readonly bench: Bench } = await import(`./${name}.ts`);
    const bars = await bench({ ...options, folder });
    if (bars.length > 0) print(`\n${barTable(bars)}`);
    return bars.some(({ met }) => met === false) ? 1 : 0;
  } finally {
    cleanUp();
  }
}

if (import.meta.main) Deno.exit(await runBench(Deno.args, processIo()));
