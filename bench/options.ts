/** Command line of the benchmarks, and their list. */
import { type Io, parseOptions, UsageError } from "../tools/command.ts";
import type { Bar } from "./report.ts";

/** Options of a benchmark; absent options have a default of the benchmark. */
export interface BenchOptions {
  /** Folder for files; removed at the end. */
  readonly folder: string;
  readonly rounds?: number | undefined;
  readonly seconds?: number | undefined;
  /** Runs stored before, or sent in each round. */
  readonly runs?: number | undefined;
  /** Ledger that is filled once and kept. */
  readonly file?: string | undefined;
  /** Selected parts of the benchmark; all when empty. */
  readonly only: readonly string[];
  readonly quick: boolean;
  /** Further arguments, such as another checkout. */
  readonly rest: readonly string[];
}

/** Measures, prints tables and returns bars. */
export type Bench = (options: BenchOptions) => Promise<readonly Bar[]>;

/** Rounds, seconds and connections of each part of `ingest`. */
export interface IngestPlan {
  readonly folder: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: readonly number[];
}

/** Results of one part of `ingest`. */
export interface IngestPart {
  readonly rows: readonly string[][];
  readonly bars: readonly Bar[];
}

/** Kind of a server's store; see `server.ts`. */
export type SideKind = "ours" | "sweeping" | "workless" | "alone" | "nothing";

/** All benchmarks by name. */
export const BENCHES = {
  ingest:
    "ingest calls as ratios: --quick, --only=calls,fsyncs,variants,memory,growing,pipeline,growth",
  cpu: "CPU microseconds a call against another checkout: cpu CHECKOUT --runs=3000",
  runs: "pages of the list of runs by filter, over --runs=1000000",
  pages: "pages of the dashboard, over --runs=1000000",
  live: "opens with 200 live listeners ÷ opens without them",
  exports: "exports of --runs=100000, and the server's memory meanwhile",
  sweep: "opens during the nightly sweep ÷ opens without it, over --runs=20000",
} as const;

/** One of {@link BENCHES}. */
export type BenchName = keyof typeof BENCHES;

const HELP = [
  "deno task bench [NAME] [--rounds=N] [--seconds=N] [--runs=N] [--file=FILE] [--only=PART,…] [--quick]",
  ...Object.entries(BENCHES).map(([name, text]) => `  ${name.padEnd(10)}${text}`),
  "  --rounds, --seconds   number and length of the measurements",
  "  --file=FILE           for runs and pages: a ledger that is filled once and kept",
  "Exit codes: 0 all bars are met, 1 one is missed, 2 invalid command line, or wrk is not installed.",
];

/** Parses a command line; null if it only asks for help. */
export function parseBench(
  args: readonly string[],
  io: Io,
): { readonly name: BenchName; readonly options: Omit<BenchOptions, "folder"> } | null {
  const { values, positionals } = parseOptions({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: "string" },
      seconds: { type: "string" },
      runs: { type: "string" },
      file: { type: "string" },
      only: { type: "string", default: "" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    HELP.forEach((line) => io.out(line));
    return null;
  }
  const [name = "ingest", ...rest] = positionals;
  if (!Object.hasOwn(BENCHES, name)) {
    throw new UsageError(`Unknown benchmark "${name}": --help lists the benchmarks`);
  }
  const options = {
    rounds: countOf("rounds", values.rounds),
    seconds: countOf("seconds", values.seconds),
    runs: countOf("runs", values.runs),
    file: values.file,
    only: values.only.split(",").filter((part) => part !== ""),
    quick: values.quick,
    rest,
  };
  return { name: name as BenchName, options };
}

function countOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new UsageError(`--${name} takes a number above 0: got ${text}`);
}
