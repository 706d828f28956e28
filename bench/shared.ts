/**
 * Measures services over a shared KV next to one over a file: one and three services, and several
 * round trips to the store. Each measurement starts new processes and an empty ledger.
 */
import { addTo, subtractCounts } from "../domain/core/sums.ts";
import { UsageError } from "../tools/command.ts";
import { number, table } from "../tools/table.ts";
import { readProgress, untilDrained } from "./backlog.ts";
import { describeQuickAck, findDenokv, type KvProcess, startKv } from "./kv.ts";
import { Link } from "./link.ts";
import { CONNECTIONS, inTurn, type Load, nextPause, wrk, type WrkResult } from "./load.ts";
import { lagOf } from "./probe.ts";
import { usageOf } from "./process.ts";
import { atLeast, atMost, type Bar, type BenchOptions, print, say } from "./report.ts";
import { OPERATOR_KEY } from "./service.ts";
import { servicesOf, type Side, startServices } from "./sides.ts";
import { median, medianOf, quantile, ratios } from "./stats.ts";
import { countMutations } from "./writes.ts";

/** A number of services over a store. */
interface Setup {
  readonly services: number;
  /** Milliseconds of a round trip to the shared KV; null for a file. */
  readonly roundTripMs: number | null;
}

/** Names of setups that a bar compares. */
const FILE = "file", NEAR = "1-0ms";

const SETUPS: Readonly<Record<string, Setup>> = {
  [FILE]: { services: 1, roundTripMs: null },
  [NEAR]: { services: 1, roundTripMs: 0 },
  "3-0ms": { services: 3, roundTripMs: 0 },
  "1-20ms": { services: 1, roundTripMs: 20 },
  "3-20ms": { services: 3, roundTripMs: 20 },
  "1-90ms": { services: 1, roundTripMs: 90 },
  "3-90ms": { services: 3, roundTripMs: 90 },
};

const BARS = {
  near: 0.7,
  /** Commits of three services that are lost to races. */
  lostPercent: 0.5,
  finalMs: { near: 2_000, far: 5_000 },
  /** Mutations of a complete run. */
  mutations: 16,
} as const;

/** Seconds of the load before a measurement, and of the load at half of the rate. */
const WARM_UP_SECONDS = 3, HALF_SECONDS = 5;
/** Concurrent probes of the time until a cost is final, and their pause. */
const PROBES = 4, PROBE_PAUSE_MS = 50;

/** Results of one setup in one round. */
export interface Shared extends WrkResult {
  /** Calls a second until the backlog was empty. */
  readonly sustained: number;
  /** Commits by outcome. */
  readonly commits: Commits;
  /** Processor time of a call in the services and in the KV; null for a file. */
  readonly cpuUs: number;
  readonly kvCpuUs: number | null;
  /** Milliseconds from a finish to the final cost, at half of the rate. */
  readonly finalMs: readonly number[];
}

/** Measures all setups. */
export async function bench(options: BenchOptions): Promise<Bar[]> {
  const { folder, quick, connections = CONNECTIONS } = options;
  const { rounds = quick ? 1 : 3, seconds = quick ? 3 : 6 } = options;
  const program = await findDenokv();
  print(`KV: ${program === null ? "the tests' server" : "denokv"}, ${await describeQuickAck()}\n`);
  const load: Load = { call: "run", connections, seconds };
  let files = 0;
  const ways = setupsOf(options).map((name) => {
    const start = () => startSetup(name, `${folder}/${files++}`, program);
    return [name, () => measure(start, load)] as const;
  });
  const results = await inTurn("run", rounds, Object.fromEntries(ways));
  const head = ["services, round trip", ...COLUMNS.map(([head]) => head)];
  const cellsOf = (all: readonly Shared[]) => COLUMNS.map(([, cell]) => cell(all));
  print(table(head, Object.entries(results).map(([name, all]) => [name, ...cellsOf(all)])));
  say("mutations …");
  await using kv = await startKv(program, `${folder}/counted`);
  const mutations = await countMutations(`http://127.0.0.1:${kv.port}${kv.path}`, load);
  return [...barsOf(results), atMost("mutations of a run, near", BARS.mutations, mutations)];
}

/** Returns the names of the selected setups. */
export function setupsOf({ only, quick }: BenchOptions): readonly string[] {
  const unknown = only.find((name) => SETUPS[name] === undefined);
  if (unknown !== undefined) throw new UsageError(`Unknown setup "${unknown}": ${NAMES}`);
  const all = Object.keys(SETUPS);
  if (only.length > 0) return all.filter((name) => only.includes(name));
  return quick ? QUICK : all;
}

const NAMES = Object.keys(SETUPS).join(", ");
const QUICK: readonly string[] = [FILE, NEAR, "3-0ms", "1-90ms"];

/** A running setup. */
interface Running extends AsyncDisposable {
  readonly side: Side;
  readonly kv: KvProcess | null;
}

async function startSetup(
  name: string,
  path: string,
  program: string | null,
): Promise<Running> {
  const { services, roundTripMs } = SETUPS[name]!;
  await using stack = new AsyncDisposableStack();
  const kv = roundTripMs === null ? null : stack.use(await startKv(program, path));
  let store = path;
  if (kv !== null) {
    const port = roundTripMs === 0 ? kv.port : stack.use(new Link(kv.port, roundTripMs!)).port;
    store = `http://127.0.0.1:${port}${kv.path}`;
  }
  const side = stack.use(await startServices(store, services));
  const owned = stack.move();
  return { side, kv, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function measure(start: () => Promise<Running>, load: Load): Promise<Shared> {
  await using running = await start();
  const { side } = running;
  await send(side, { ...load, seconds: WARM_UP_SECONDS });
  const before = await stateOf(running);
  const result = await send(side, load);
  const after = await stateOf(running);
  const usOf = (of: "services" | "kv") => (after[of] - before[of]) * 1e6 / result.answered;
  const finalMs: number[] = [];
  const rate = result.requestsPerSecond;
  const pauseMs = nextPause(0, load.connections, rate, Math.min(rate, result.sustained) / 2);
  const steady = { ...load, seconds: HALF_SECONDS, pauseMs };
  await send(side, steady, () => probes(side, finalMs));
  return {
    ...result,
    commits: subtractCounts(after.commits, before.commits),
    cpuUs: usOf("services"),
    kvCpuUs: running.kv === null ? null : usOf("kv"),
    finalMs,
  };
}

/** Sends a load and waits until its backlog is empty. */
async function send(
  side: Side,
  load: Load,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<WrkResult & Pick<Shared, "sustained">> {
  const start = await readProgress(side);
  const startMs = performance.now();
  const others = side.others.map(({ url }) => url);
  const [result] = await Promise.all([wrk(side.url, load, others), meanwhile()]);
  const drainedMs = await untilDrained(side, start, result.failures);
  return { ...result, sustained: result.answered * 1_000 / (drainedMs - startMs) };
}

/** Measures the time until a cost is final, with all services in turn. */
function probes(side: Side, finalMs: number[]): Promise<unknown> {
  const endMs = performance.now() + HALF_SECONDS * 1_000;
  const services = servicesOf(side);
  return Promise.all(Array.from({ length: PROBES }, async (_, n) => {
    const { url } = services[n % services.length]!;
    while (performance.now() < endMs) {
      const ms = await lagOf(url).catch((error) => void say(`  a probe failed: ${error.message}`));
      if (ms !== undefined) finalMs.push(ms);
      await new Promise((resolve) => setTimeout(resolve, PROBE_PAUSE_MS));
    }
  }));
}

/** Processor seconds and commits of a setup so far. */
async function stateOf({ side, kv }: Running) {
  const pids = servicesOf(side).map(({ pid }) => pid);
  const secondsOf = async (pid: number) => (await usageOf(pid))?.cpuSeconds ?? NaN;
  const services = (await Promise.all(pids.map(secondsOf))).reduce((sum, one) => sum + one, 0);
  return {
    services,
    kv: kv === null ? NaN : await secondsOf(kv.pid),
    commits: await commitsOf(side),
  };
}

/** Commits of services by outcome, and the writes in them. */
interface Commits {
  readonly stored: number;
  readonly lost: number;
  readonly failed: number;
  readonly writes: number;
}

async function commitsOf(side: Side): Promise<Commits> {
  const texts = await Promise.all(
    servicesOf(side).map(async ({ url }) => {
      const headers = { Authorization: `Bearer ${OPERATOR_KEY}` };
      return await (await fetch(`${url}/metrics`, { headers })).text();
    }),
  );
  return parseCommits(texts.join("\n"));
}

/** Adds up the commits in the text of `/metrics` of some services. */
export function parseCommits(metrics: string): Commits {
  const sums = { stored: 0, lost: 0, failed: 0, writes: 0 };
  const line = /^runledger_(?:commits_total\{end="(stored|lost|failed)"\}|writes_total) (\d+)$/gm;
  for (const [, end = "writes", count] of metrics.matchAll(line)) {
    addTo(sums, { [end]: Number(count) });
  }
  return sums;
}

function lostPercent(all: readonly Shared[]): number {
  return median(
    all.map(({ commits: { stored, lost, failed } }) => 100 * lost / (stored + lost + failed)),
  );
}

function ratesOf(all: readonly Shared[]): number[] {
  return all.map(({ requestsPerSecond }) => requestsPerSecond);
}

const finalMsOf = (all: readonly Shared[]) => all.flatMap(({ finalMs }) => finalMs);

/** Columns of the measurements of a setup: medians, quantiles, and the sum of failures. */
const COLUMNS: readonly [head: string, cell: (all: readonly Shared[]) => string][] = [
  ["calls a second", (all) => number(median(ratesOf(all)))],
  ["p50 ms", (all) => number(median(all.map(({ p50Ms }) => p50Ms)), 1)],
  ["p99 ms", (all) => number(median(all.map(({ p99Ms }) => p99Ms)), 1)],
  ["sustained", (all) => number(median(all.map(({ sustained }) => sustained)))],
  [
    "commits a call",
    (all) => number(median(all.map(({ commits, answered }) => commits.stored / answered)), 2),
  ],
  [
    "writes a commit",
    (all) => number(median(all.map(({ commits }) => commits.writes / commits.stored)), 1),
  ],
  ["commits lost", (all) => `${number(lostPercent(all), 2)} %`],
  ["µs a call", (all) => number(median(all.map(({ cpuUs }) => cpuUs)))],
  ["… of the KV", (all) => number(medianOf(all.map(({ kvCpuUs }) => kvCpuUs)))],
  ["cost final p50 ms", (all) => number(quantile(finalMsOf(all), 0.5))],
  ["p99 ms", (all) => number(quantile(finalMsOf(all), 0.99))],
  ["failures", (all) => number(all.reduce((sum, { failures }) => sum + failures, 0))],
];

/** Compares the setups, round by round. */
export function barsOf(results: Readonly<Record<string, readonly Shared[]>>): Bar[] {
  const bars: Bar[] = [];
  const { [FILE]: file, [NEAR]: near } = results;
  if (file !== undefined && near !== undefined) {
    bars.push(atLeast("near ÷ file", BARS.near, ratios(ratesOf(near), ratesOf(file))));
  }
  for (const [name, all] of Object.entries(results)) {
    const { services, roundTripMs } = SETUPS[name]!;
    if (services > 1) {
      bars.push(atMost(`${name}: commits lost, %`, BARS.lostPercent, lostPercent(all)));
    }
    if (roundTripMs === null) continue;
    const limitMs = roundTripMs < 90 ? BARS.finalMs.near : BARS.finalMs.far;
    bars.push(atMost(`${name}: cost final p99, ms`, limitMs, quantile(finalMsOf(all), 0.99)));
  }
  return bars;
}
