/** Measures load: wrk sends calls for some seconds, and the work after them is waited for. */
import { addTo, subtractCounts } from "../domain/core/sums.ts";
import { formatInstant } from "../domain/core/time.ts";
import { type Side, untilIdle, usageOf } from "./process.ts";
import { say } from "./report.ts";
import { AUTHORIZATION } from "./service.ts";

/**
 * Loads of `load.lua`. `run` is the three calls of complete runs; `events` and `finish` are for runs
 * that were never opened.
 */
export const CALLS = ["open", "events", "finish", "heartbeat", "ping", "run", "guard"] as const;

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

/** Results of one measurement. */
export type Measured = Awaited<ReturnType<typeof measure>>;

const WARM_UP_SECONDS = 2;

/** Sends a load before its first measurement on the services over one store. */
export async function warmUp(
  sides: readonly Side[],
  load: Load,
  seconds = WARM_UP_SECONDS,
): Promise<void> {
  if (sides[0]?.warm.has(load.call)) return;
  await send(sides, { ...load, seconds });
  sides[0]?.warm.add(load.call);
}

/**
 * Loads the services over one store, and waits until they are idle: background work or a checkpoint
 * would slow down the next measurement.
 */
export async function measure(sides: readonly Side[], load: Load) {
  await warmUp(sides, load);
  const before = await usageOfAll(sides);
  const sent = await send(sides, load);
  const { cpuSeconds: endSeconds, rssMb } = await usageOfAll(sides);
  const cpuSeconds = endSeconds - before.cpuSeconds;
  return {
    ...sent,
    /** CPU time of the processes, with the work after the answers; NaN if the system has no count. */
    cpuSeconds,
    /** Microseconds of it for each answer. */
    cpuUs: cpuSeconds * 1e6 / sent.answered,
    /** Memory of the first process at the end. */
    rssMb,
  };
}

async function usageOfAll(sides: readonly Side[]) {
  const usages = await Promise.all(sides.map(({ pid }) => usageOf(pid)));
  const cpuSeconds = usages.reduce((sum, usage) => sum + (usage?.cpuSeconds ?? NaN), 0);
  return { cpuSeconds, rssMb: usages[0]?.rssMb ?? NaN };
}

/**
 * Sends a load to the services over one store, and waits until all work is done.
 *
 * @param meanwhile sends further calls during the load
 */
export async function send(
  sides: readonly Side[],
  load: Load,
  meanwhile?: () => Promise<unknown>,
) {
  const start = await readProgress(sides);
  const startMs = performance.now();
  const [result] = await Promise.all([wrk(sides, load), meanwhile?.()]);
  const loadedMs = performance.now();
  const isCounted = KINDS.some((kind) => kind === load.call) && sides[0]?.kind !== "workless";
  const drainedMs = isCounted ? await untilDrained(sides, start, result.failures) : loadedMs;
  for (const { pid } of sides) await untilIdle(pid);
  const { accepted } = subtractProgress(await readProgress(sides), start);
  if (result.failures > 0) say(`  ${result.failures} requests failed on "${sides[0]?.kind}"`);
  return {
    ...result,
    /** Complete units. */
    units: accepted.finished,
    /** Seconds of the load, and those until its backlog was empty. */
    loadedSeconds: (loadedMs - startMs) / 1_000,
    drainedSeconds: (drainedMs - startMs) / 1_000,
  };
}

/**
 * Alternates between several measurements, so that slow phases of the machine affect all of them and
 * none is always the first.
 */
export async function inTurn<Way extends string, T>(
  title: string,
  rounds: number,
  ways: Readonly<Record<Way, () => Promise<T>>>,
): Promise<Record<Way, T[]>> {
  const names = Object.keys(ways) as Way[];
  const results = {} as Record<Way, T[]>;
  for (const name of names) results[name] = [];
  for (let round = 0; round < rounds; round++) {
    for (const at of names.keys()) {
      const name = names[(round + at) % names.length]!;
      say(`${title}: round ${round + 1}/${rounds}, ${name} …`);
      results[name].push(await ways[name]());
    }
  }
  return results;
}

/** Turns between the calls of a run, for each connection. */
const LATER_PART = 1.5;

/** Runs wrk against services, with a part of the connections each. */
export async function wrk(
  services: readonly Pick<Side, "url">[],
  { call, connections, seconds, pauseMs = 0 }: Load,
) {
  const urls = services.map(({ url }) => url);
  // More than the calls in progress on the connections of a thread.
  const later = Math.ceil(LATER_PART * connections / urls.length);
  const options = [`-t${urls.length}`, `-c${connections}`, `-d${seconds}s`, "--timeout", "10s"];
  const script = ["-s", new URL("./load.lua", import.meta.url).pathname, urls[0]!, "--"];
  const hosts = urls.length === 1 ? [] : urls.map((url) => new URL(url).host);
  const args = [...options, ...script, call, String(pauseMs), String(later), ...hosts];
  const { success, stderr } = await new Deno.Command("wrk", { args, stdout: "null" }).output();
  const text = new TextDecoder().decode(stderr);
  if (!success) throw new Error(`wrk failed: ${text.trim()}`);
  return parseWrk(text);
}

/** Parses the line that `load.lua` prints at the end. */
function parseWrk(output: string) {
  const line = output.split("\n").findLast((text) => text.startsWith("{"));
  if (line === undefined) throw new Error(`wrk printed no result: ${output.trim()}`);
  const { requests, refused, lost, durationUs, p50Us, p99Us } = JSON.parse(line);
  const answered = requests - refused;
  return {
    /** Successful requests. */
    answered,
    requestsPerSecond: answered * 1e6 / durationUs,
    p50Ms: p50Us / 1000,
    p99Ms: p99Us / 1000,
    /** Refused requests, and requests without a response. */
    failures: refused + lost,
  };
}

/** Calls of the loads of {@link KINDS} by what they add to the sums. */
interface Counts {
  readonly opened: number;
  readonly batches: number;
  readonly finished: number;
}

/**
 * Counts of services at one time, by their API: it does not depend on how the worker finds its work,
 * so other checkouts have it too.
 */
interface Progress {
  /** Since the start of the processes. */
  readonly accepted: Counts;
  /** In all sums of the ledger. */
  readonly aggregated: Counts;
}

const HEARTBEAT = ["opened", "finished"] as const;
const ADDED: Readonly<Record<string, readonly (keyof Counts)[]>> = {
  "POST /v1/runs": ["opened"],
  "POST /v1/runs/:id/events": ["batches"],
  "POST /v1/runs/:id/finish": ["finished"],
  "POST /v1/heartbeats": HEARTBEAT,
  "GET /v1/ping": HEARTBEAT,
};

/** Counts accepted calls in the text of `/metrics`. */
function parseAccepted(metrics: string): Counts {
  const line =
    /^runledger_http_requests_total\{method="(\w+)",route="([^"]+)",status="20\d"\} (\d+)$/gm;
  const total = { opened: 0, batches: 0, finished: 0 };
  for (const [, method, route, count] of metrics.matchAll(line)) {
    for (const name of ADDED[`${method} ${route}`] ?? []) addTo(total, { [name]: Number(count) });
  }
  return total;
}

/** First day of the sums, so that a midnight during a measurement changes nothing. */
const FROM = formatInstant(Date.now() - 86_400_000).slice(0, 10);

/** Calls a service: reads a path, or sends a body to it; returns the text of the answer. */
export async function call(
  { url }: Pick<Side, "url">,
  path: string,
  body?: unknown,
  headers: HeadersInit = AUTHORIZATION,
  method = "POST",
): Promise<string> {
  const init = body === undefined ? {} : { method, body: JSON.stringify(body) };
  const response = await fetch(url + path, { headers, ...init });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return text;
}

/** Reads the counts of the services over one store. */
async function readProgress(sides: readonly Side[]): Promise<Progress> {
  // In this order, a call that is accepted in between counts as pending and never as lost.
  const { totals } = JSON.parse(await call(sides[0]!, `/v1/spend?from=${FROM}`));
  const metrics = await Promise.all(sides.map((side) => call(side, "/metrics")));
  const { runs: opened, successful_runs: finished, events } = totals;
  return {
    accepted: parseAccepted(metrics.join("\n")),
    aggregated: { opened, finished, batches: events / RUN_EVENTS },
  };
}

function subtractProgress(now: Progress, start: Progress): Progress {
  return {
    accepted: subtractCounts(now.accepted, start.accepted),
    aggregated: subtractCounts(now.aggregated, start.aggregated),
  };
}

/** Pause between two reads of the counts, which take time of the server. */
const POLL_MS = 50;
const DRAIN_LIMIT_MS = 600_000;

/**
 * Waits until all calls accepted since `start` are aggregated, and until the services are idle.
 *
 * @param failures calls without a success; each may be stored nevertheless
 * @returns the time when the backlog was empty, as of `performance.now()`
 * @throws when a call was lost or counted twice
 */
async function untilDrained(
  sides: readonly Side[],
  start: Progress,
  failures: number,
): Promise<number> {
  const endMs = performance.now() + DRAIN_LIMIT_MS;
  const pending = async () => {
    const { accepted, aggregated } = subtractProgress(await readProgress(sides), start);
    return Object.values(subtractCounts(accepted, aggregated));
  };
  while ((await pending()).some((count) => count > 0) && performance.now() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const drainedMs = performance.now();
  for (const { pid } of sides) await untilIdle(pid);
  const left = await pending();
  if (left.some((count) => count > 0 || count < -failures)) {
    throw new Error(`"${sides[0]?.kind}" did not aggregate what it accepted: ${left}`);
  }
  return drainedMs;
}
