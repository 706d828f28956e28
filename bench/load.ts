/** Measures load: wrk sends requests for some seconds, and the server's process is monitored. */
import { run, untilIdle, usageOf } from "./process.ts";
import { say } from "./report.ts";
import type { Side } from "./sides.ts";
import { ratios, rotate } from "./stats.ts";

/**
 * Loads of `load.lua`. `run` is the three calls of complete runs; `events` and `finish` are for runs
 * that were never opened.
 */
export const CALLS = ["open", "events", "finish", "heartbeat", "ping", "run"] as const;

/** One of {@link CALLS}. */
export type Call = typeof CALLS[number];

/**
 * Loads whose units are complete: a unit is a run of three calls, or one call. Each unit is counted
 * by the call that finishes it.
 */
export const KINDS = ["run", "heartbeat", "ping"] as const satisfies readonly Call[];

/** One of {@link KINDS}. */
export type Kind = typeof KINDS[number];

/** Events in the batch of a complete run. */
export const RUN_EVENTS = 10;

/** Connections of a load of complete units. */
export const CONNECTIONS = 64;

/** Load that wrk generates. */
export interface Load {
  readonly call: Call;
  readonly connections: number;
  readonly seconds: number;
  /** Average pause of a connection between requests, milliseconds. */
  readonly pauseMs?: number;
}

/** Counts and latencies that wrk reports. */
export interface WrkResult {
  /** Successful requests. */
  readonly answered: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Refused requests, and requests without a response. */
  readonly failures: number;
}

/** Results of one measurement; null for values that the system does not provide. */
export interface Measured extends WrkResult {
  /** CPU time of the server's process per request, with the work after the answer. */
  readonly cpuUs: number | null;
  /** Memory of the server's process at the end. */
  readonly rssMb: number | null;
}

const WARM_UP_SECONDS = 1;

/** Sends a load before its first measurement on a server. */
export async function warmUp(side: Side, load: Load): Promise<void> {
  if (side.warm.has(load.call)) return;
  await wrk(side.url, { ...load, seconds: WARM_UP_SECONDS });
  side.warm.add(load.call);
  await untilIdle(side.pid);
}

/** Loads a server, with a warm-up before the first use of a call, and waits until it is idle. */
export async function measure(side: Side, load: Load): Promise<Measured> {
  await warmUp(side, load);
  const before = await usageOf(side.pid);
  const result = await wrk(side.url, load);
  if (result.failures > 0) say(`  ${result.failures} requests failed on "${side.kind}"`);
  // Remaining background work or a checkpoint would slow down the next measurement.
  await untilIdle(side.pid);
  const after = await usageOf(side.pid);
  if (before === null || after === null) return { ...result, cpuUs: null, rssMb: null };
  const cpuUs = (after.cpuSeconds - before.cpuSeconds) * 1e6 / result.answered;
  return { ...result, cpuUs, rssMb: after.rssMb };
}

/**
 * Alternates between several measurements, so that slow phases of the machine affect all of them.
 */
export async function inTurn<Way extends string, T>(
  title: string,
  rounds: number,
  ways: Readonly<Record<Way, () => Promise<T>>>,
): Promise<Record<Way, T[]>> {
  const names = Object.keys(ways) as Way[];
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Way,
    T[]
  >;
  for (let round = 0; round < rounds; round++) {
    for (const name of rotate(names, round)) {
      say(`${title}: round ${round + 1}/${rounds}, ${name} …`);
      results[name].push(await ways[name]());
    }
  }
  return results;
}

/** Returns the ratios of requests a second, round by round. */
export function rateRatios(ours: readonly WrkResult[], theirs: readonly WrkResult[]): number[] {
  const rates = (all: readonly WrkResult[]) =>
    all.map(({ requestsPerSecond }) => requestsPerSecond);
  return ratios(rates(ours), rates(theirs));
}

/** Turns between the calls of a run, for each connection. */
const LATER_PART = 1.5;

/** Runs wrk against an address, or against several with a part of the connections each. */
export async function wrk(
  url: string,
  load: Load,
  others: readonly string[] = [],
): Promise<WrkResult> {
  const { call, connections, seconds, pauseMs = 0 } = load;
  const hosts = others.length === 0 ? [] : [url, ...others].map((url) => new URL(url).host);
  // More than the calls in progress on the connections of a thread.
  const later = Math.ceil(LATER_PART * connections / (1 + others.length));
  const { stderr } = await run(
    "wrk",
    ...[`-t${1 + others.length}`, `-c${connections}`, `-d${seconds}s`, "--timeout", "10s"],
    ...["-s", new URL("./load.lua", import.meta.url).pathname, url, "--"],
    ...[call, String(pauseMs), String(later), ...hosts],
  );
  return parseWrk(new TextDecoder().decode(stderr));
}

/** Parses the line that `load.lua` prints at the end. */
export function parseWrk(output: string): WrkResult {
  const line = output.split("\n").findLast((text) => text.startsWith("{"));
  if (line === undefined) throw new Error(`wrk printed no result: ${output.trim()}`);
  const { requests, refused, lost, durationUs, p50Us, p99Us } = JSON.parse(line);
  const answered = requests - refused;
  return {
    answered,
    requestsPerSecond: answered * 1e6 / durationUs,
    p50Ms: p50Us / 1000,
    p99Ms: p99Us / 1000,
    failures: refused + lost,
  };
}

/** Estimates the pause for a rate, from the rate that another pause achieved. */
export function nextPause(
  pauseMs: number,
  connections: number,
  achieved: number,
  wantedRate: number,
): number {
  return Math.max(0.5, pauseMs + 1000 * connections * (1 / wantedRate - 1 / achieved));
}
