/** Measurements: wrk loads a server for some seconds, and the server's process is watched. */
import { number, percent } from "../tools/table.ts";
import { run, untilIdle, usageOf } from "./process.ts";
import { say } from "./report.ts";
import type { Side } from "./sides.ts";
import { median, medianOf, ratios, rotate, spread } from "./stats.ts";

/** The calls that are measured. */
export const CALLS = ["open", "events", "finish", "heartbeat", "ping"] as const;

/** One of {@link CALLS}. */
export type Call = typeof CALLS[number];

/** Requests that wrk sends. */
export interface Load {
  /** `life` opens a run and finishes one it opened before, in turn. */
  readonly call: Call | "life";
  readonly connections: number;
  readonly seconds: number;
  /** Teams that send, each with its own key. */
  readonly teams?: number;
  /** Requests in a hundred that are sent a second time. */
  readonly retriesPercent?: number;
  /** Milliseconds a connection waits before its next request, on average. */
  readonly pauseMs?: number;
}

/** Results of wrk. */
export interface WrkResult {
  /** Answered requests; refusals do not count. */
  readonly answered: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Refusals, and requests without an answer. */
  readonly failures: number;
}

/** Results of one measurement; null where the system does not show it. */
export interface Measured extends WrkResult {
  /** CPU time of the server's process for one request. */
  readonly cpuUs: number | null;
  /** Memory of the server's process at the end. */
  readonly rssMb: number | null;
}

/** Longest wait for a server to finish what it was sent. */
const IDLE_LIMIT_MS = 120_000;
const WARM_UP_SECONDS = 1;

/** Loads a server, the first time with a call after a warm-up, and leaves it when it is idle. */
export async function measure(side: Side, load: Load): Promise<Measured> {
  // What a team does first takes longer, so another number of teams warms up again.
  const what = `${load.call} ${load.teams ?? 1}`;
  if (!side.warm.has(what)) {
    await wrk(side.url, { ...load, seconds: WARM_UP_SECONDS });
    side.warm.add(what);
    await untilIdle(side.pid, IDLE_LIMIT_MS);
  }
  const before = await usageOf(side.pid);
  const found = await wrk(side.url, load);
  if (found.failures > 0) say(`  ${found.failures} requests failed on "${side.kind}"`);
  const after = await usageOf(side.pid);
  // Its queue or its checkpoint would otherwise slow down the next measurement.
  await untilIdle(side.pid, IDLE_LIMIT_MS);
  if (before === null || after === null) return { ...found, cpuUs: null, rssMb: null };
  const cpuUs = (after.cpuSeconds - before.cpuSeconds) * 1e6 / found.answered;
  return { ...found, cpuUs, rssMb: after.rssMb };
}

/** Measures several ways in turn, so that a machine that is slow for a while is slow for all. */
export async function inTurn<Way extends string, T>(
  title: string,
  rounds: number,
  ways: Readonly<Record<Way, () => Promise<T>>>,
): Promise<Record<Way, T[]>> {
  const names = Object.keys(ways) as Way[];
  const found = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Way, T[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of rotate(names, round)) {
      say(`${title}: round ${round + 1}/${rounds}, ${name} …`);
      found[name].push(await ways[name]());
    }
  }
  return found;
}

/** Requests a second of one way over those of another, round by round. */
export function rateRatios(ours: readonly WrkResult[], theirs: readonly WrkResult[]): number[] {
  const rates = (all: readonly WrkResult[]) =>
    all.map(({ requestsPerSecond }) => requestsPerSecond);
  return ratios(rates(ours), rates(theirs));
}

/** Head of the table of {@link loadRow}. */
export const LOAD_HEAD = [
  "call",
  "connections",
  "per second",
  "p50 ms",
  "p99 ms",
  "spread",
  "CPU µs each",
  "RSS MB",
  "failures",
] as const;

/** The medians of what was measured several times, as a row of a table. */
export function loadRow(name: string, connections: number, all: readonly Measured[]): string[] {
  const rates = all.map(({ requestsPerSecond }) => requestsPerSecond);
  return [
    name,
    String(connections),
    number(median(rates)),
    number(median(all.map(({ p50Ms }) => p50Ms)), 1),
    number(median(all.map(({ p99Ms }) => p99Ms)), 1),
    percent(spread(rates)),
    number(medianOf(all.map(({ cpuUs }) => cpuUs))),
    number(medianOf(all.map(({ rssMb }) => rssMb))),
    number(all.reduce((sum, { failures }) => sum + failures, 0)),
  ];
}

/** Loads an address. */
export async function wrk(url: string, load: Load): Promise<WrkResult> {
  const { call, connections, seconds, teams = 1, retriesPercent = 0, pauseMs = 0 } = load;
  const { stderr } = await run(
    "wrk",
    ...["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s"],
    ...["-s", new URL("./load.lua", import.meta.url).pathname, url, "--"],
    ...[call, String(teams), String(retriesPercent), String(pauseMs)],
  );
  return parseWrk(new TextDecoder().decode(stderr));
}

/** Reads the line that `load.lua` prints at the end. */
export function parseWrk(output: string): WrkResult {
  const line = output.split("\n").findLast((text) => text.startsWith("{"));
  if (line === undefined) throw new Error(`wrk found nothing: ${output.trim()}`);
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

/** The pause that should lead to a rate, after another one led to what was achieved. */
export function nextPause(
  pauseMs: number,
  connections: number,
  achieved: number,
  wanted: number,
): number {
  return Math.max(0.5, pauseMs + 1000 * connections * (1 / wanted - 1 / achieved));
}
