/** What a run of the benchmark measures, from its arguments. */
import { type Call, CALLS } from "./measure.ts";

/** The parts of the benchmark. */
export const PARTS = [
  "calls",
  "fsyncs",
  "variants",
  "memory",
  "growing",
  "pipeline",
  "writer",
  "growth",
] as const;

/** One of {@link PARTS}. */
export type Part = typeof PARTS[number];

/** A run of the benchmark. */
export interface Plan {
  readonly parts: readonly Part[];
  readonly rounds: number;
  readonly connections: readonly number[];
  /** Calls whose syncs to disk are counted. */
  readonly tracedCalls: readonly Call[];
  /** Seconds of one measurement. */
  readonly seconds: number;
  /** Seconds of the run that watches memory. */
  readonly memorySeconds: number;
  /** Batches of 10 events in the run that grows. */
  readonly growingBatches: number;
  /** Runs a file holds before the calls are measured on it again. */
  readonly storedRuns: readonly number[];
}

const WHOLE: Plan = {
  parts: ["calls", "fsyncs", "variants", "memory", "growing", "pipeline", "writer"],
  rounds: 3,
  connections: [64, 256],
  tracedCalls: CALLS,
  seconds: 3,
  memorySeconds: 60,
  growingBatches: 5_000,
  storedRuns: [100_000, 1_000_000],
};

/** Short enough to look at after each change; one round says little about a few percent. */
const QUICK: Plan = {
  ...WHOLE,
  parts: ["calls", "fsyncs", "writer"],
  rounds: 1,
  connections: [64],
  tracedCalls: ["open"],
  seconds: 1,
  memorySeconds: 12,
  growingBatches: 2_500,
  storedRuns: [20_000],
};

export const USAGE = `Usage: deno task bench [--quick] [--growth] [--only=PART,...]
  --quick   one short round with 64 connections, within a minute
  --growth  also with 100,000 and 1,000,000 stored runs, some minutes more
  --only    just these parts: ${PARTS.join(", ")}`;

/** Reads the arguments; a text says what is wrong with them. */
export function parseArguments(args: readonly string[]): Plan | string {
  let plan = args.includes("--quick") ? QUICK : WHOLE;
  if (args.includes("--growth")) plan = { ...plan, parts: [...plan.parts, "growth"] };
  for (const arg of args) {
    if (arg === "--quick" || arg === "--growth") continue;
    if (!arg.startsWith("--only=")) return `Cannot read "${arg}".\n${USAGE}`;
    const wanted = arg.slice("--only=".length).split(",");
    const unknown = wanted.find((part) => !PARTS.includes(part as Part));
    if (unknown !== undefined) return `There is no part "${unknown}".\n${USAGE}`;
    plan = { ...plan, parts: PARTS.filter((part) => wanted.includes(part)) };
  }
  return plan;
}
