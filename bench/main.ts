/** `deno task bench`: measures the service and compares it with the bars of docs/PERFORMANCE.md. */
import { type Io, parseOptions, processIo, runTool, UsageError } from "../tools/command.ts";
import { describeMachine, endAll, isInstalled } from "./process.ts";
import { barTable, type Bench, type BenchOptions, print } from "./report.ts";

/** Summaries of the benchmarks by name; the module of this name has the benchmark. */
const BENCHES: Readonly<Record<string, string>> = {
  sustained: "runs, heartbeats and pings until their backlog is empty: sustained [CHECKOUT]",
  writes: "rows, bytes and syncs of runs, heartbeats and pings",
  shared: "services over a shared KV next to a file: --connections=64",
  volume: "size, reads and opens of a ledger of --runs=2000000",
  monitors: "10,000 monitors due in one minute, of one team and of 1,000",
  cpu: "CPU microseconds a call against another checkout: cpu CHECKOUT",
};

const HELP = [
  "deno task bench [NAME] [CHECKOUT] [--rounds=N] [--seconds=N] [--runs=N]",
  "                [--connections=N] [--only=SETUP,…] [--quick]",
  ...Object.entries(BENCHES).map(([name, summary]) => `  ${name.padEnd(12)}${summary}`),
  "Without a name: sustained.",
  "  --quick               sustained or shared in one short round, about a minute",
  "  --only=SETUP,…        setups of shared",
  "  --rounds, --seconds   number and length of the measurements",
  "Exit codes: 0 all bars are met, 1 one is missed, 2 invalid command line, or wrk is not installed.",
];

/** Exit code of a process that SIGINT ended. */
const INTERRUPTED = 130;

/** Parses a command line; null if it only asks for help. */
export function parseBench(
  args: readonly string[],
  io: Io,
): { readonly name: string; readonly options: Omit<BenchOptions, "folder"> } | null {
  const { values, positionals } = parseOptions({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: "string" },
      seconds: { type: "string" },
      runs: { type: "string" },
      connections: { type: "string" },
      only: { type: "string", default: "" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    HELP.forEach((line) => io.out(line));
    return null;
  }
  const [name = "sustained", ...rest] = positionals;
  if (!Object.hasOwn(BENCHES, name)) {
    throw new UsageError(`Unknown benchmark "${name}": --help lists the benchmarks`);
  }
  const options = {
    rounds: countOf("rounds", values.rounds),
    seconds: countOf("seconds", values.seconds),
    runs: countOf("runs", values.runs),
    connections: countOf("connections", values.connections),
    only: values.only.split(",").filter((part) => part !== ""),
    quick: values.quick,
    rest,
  };
  return { name, options };
}

function countOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new UsageError(`--${name} takes a number above 0: got ${text}`);
}

async function main(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseBench(args, io);
  if (parsed === null) return 0;
  if (!await isInstalled("wrk", "--version")) {
    throw new UsageError("wrk is not installed: apt install wrk, or brew install wrk");
  }
  const folder = await Deno.makeTempDir({ prefix: "runledger-bench-" });
  let cleaned: Promise<void> | null = null;
  // Runs once: ending a child process also ends the measurement, which then cleans up.
  const cleanUp = () => cleaned ??= endAll().then(() => Deno.remove(folder, { recursive: true }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => cleanUp().finally(() => Deno.exit(INTERRUPTED)));
  }
  try {
    print(`${await describeMachine(folder)}\n`);
    const { bench }: { readonly bench: Bench } = await import(`./${parsed.name}.ts`);
    const bars = await bench({ ...parsed.options, folder });
    if (bars.length > 0) print(`\n${barTable(bars)}`);
    return bars.some(({ met }) => met === false) ? 1 : 0;
  } finally {
    await cleanUp();
  }
}

if (import.meta.main) {
  const io = processIo();
  Deno.exit(await runTool(io, () => main(Deno.args, io)));
}
