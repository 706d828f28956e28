/**
 * Measures services over a shared KV next to one over a file: one and three services, and several
 * round trips to the store. Each measurement starts new processes and an empty ledger.
 */
import { UsageError } from "../tools/command.ts";
import { number, table } from "../tools/table.ts";
import { readProgress, untilDrained } from "./backlog.ts";
import { describeQuickAck, findDenokv, type KvProcess, startKv } from "./kv.ts";
import { Link } from "./link.ts";
import { CONNECTIONS, inTurn, type Load, nextPause, wrk, type WrkResult } from "./load.ts";
import { lagOf, repeatUntil } from "./probe.ts";
import { usageOf } from "./process.ts";
import { atLeast, atMost, type Bar, belowMs, type BenchOptions, print, say } from "./report.ts";
import { OPERATOR_KEY } from "./service.ts";
import { servicesOf, type Side, startServices } from "./sides.ts";
import { median, medianOf, quantile, ratios } from "./stats.ts";
import { countMutations } from "./writes.ts";

/** A number of services over a store. */
interface Setup {
  readonly services: number;
  /** Milliseconds of a round trip to the shared KV; null for a file. */
  readonly roundTripMs: number | null;
  /** True for the services of the other checkout. */
  readonly isBefore?: boolean;
}

/** Names of setups that a bar compares. */
const FILE = "file", NEAR = "1-0ms", FAR = "1-90ms", BEFORE = "before-90ms";

const SETUPS: Readonly<Record<string, Setup>> = {
  [FILE]: { services: 1, roundTripMs: null },
  [NEAR]: { services: 1, roundTripMs: 0 },
  "3-0ms": { services: 3, roundTripMs: 0 },
  "1-20ms": { services: 1, roundTripMs: 20 },
  "3-20ms": { services: 3, roundTripMs: 20 },
  [FAR]: { services: 1, roundTripMs: 90 },
  "3-90ms": { services: 3, roundTripMs: 90 },
  [BEFORE]: { services: 1, roundTripMs: 90, isBefore: true },
};

const BARS = {
  near: 0.7,
  before: 2.5,
  /** Part of the commits of three services. */
  lost: 0.005,
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
  /** Calls a second until the backlog was empty; null for the other checkout. */
  readonly sustained: number | null;
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
  const { folder, quick, connections = CONNECTIONS, rest: [before] } = options;
  const { rounds = quick ? 1 : 3, seconds = quick ? 3 : 6 } = options;
  const program = await findDenokv();
  print(`KV: ${program === null ? "the tests' server" : "denokv"}, ${await describeQuickAck()}\n`);
  const load: Load = { call: "run", connections, seconds };
  let files = 0;
  const ways = setupsOf(options).map((name) => {
    const start = () => startSetup(name, { path: `${folder}/${files++}`, program, before });
    return [name, () => measure(start, load)] as const;
  });
  const results = await inTurn("run", rounds, Object.fromEntries(ways));
  print(table(HEAD, Object.entries(results).map(([name, all]) => rowOf(name, all))));
  say("mutations …");
  await using kv = await startKv(program, `${folder}/counted`);
  const mutations = await countMutations(`http://127.0.0.1:${kv.port}${kv.path}`, load);
  return [...barsOf(results), atMost("mutations of a run, near", BARS.mutations, mutations)];
}

/** Returns the names of the selected setups. */
export function setupsOf({ only, quick, rest: [before] }: BenchOptions): readonly string[] {
  const unknown = only.find((name) => SETUPS[name] === undefined);
  if (unknown !== undefined) throw new UsageError(`Unknown setup "${unknown}": ${NAMES}`);
  const all = Object.keys(SETUPS).filter((name) => name !== BEFORE || before !== undefined);
  if (only.length > 0) return all.filter((name) => only.includes(name));
  return quick ? all.filter((name) => QUICK.includes(name)) : all;
}

const NAMES = Object.keys(SETUPS).join(", ");
const QUICK: readonly string[] = [FILE, NEAR, "3-0ms", FAR, BEFORE];

/** A running setup. */
interface Running extends AsyncDisposable {
  readonly side: Side;
  readonly kv: KvProcess | null;
  /** False for a checkout whose backlog may take very long. */
  readonly hasDrain: boolean;
}

async function startSetup(
  name: string,
  { path, program, before }: {
    readonly path: string;
    readonly program: string | null;
    readonly before: string | undefined;
  },
): Promise<Running> {
  const { services, roundTripMs, isBefore = false } = SETUPS[name]!;
  await using stack = new AsyncDisposableStack();
  const kv = roundTripMs === null ? null : stack.use(await startKv(program, path));
  let store = path;
  if (kv !== null) {
    const port = roundTripMs === 0 ? kv.port : stack.use(new Link(kv.port, roundTripMs!)).port;
    store = `http://127.0.0.1:${port}${kv.path}`;
  }
  const side = stack.use(await startServices(store, services, isBefore ? before : undefined));
  const owned = stack.move();
  return { side, kv, hasDrain: !isBefore, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function measure(start: () => Promise<Running>, load: Load): Promise<Shared> {
  await using running = await start();
  const { side } = running;
  await send(running, { ...load, seconds: WARM_UP_SECONDS });
  const before = await stateOf(running);
  const result = await send(running, load);
  const after = await stateOf(running);
  const usOf = (of: "services" | "kv") => (after[of] - before[of]) * 1e6 / result.answered;
  const finalMs: number[] = [];
  if (running.hasDrain) {
    const rate = result.requestsPerSecond;
    const half = Math.min(rate, result.sustained ?? NaN) / 2;
    const pauseMs = nextPause(0, load.connections, rate, half);
    const steady = { ...load, seconds: HALF_SECONDS, pauseMs };
    await send(running, steady, () => probes(side, finalMs));
  }
  return {
    ...result,
    commits: difference(after.commits, before.commits),
    cpuUs: usOf("services"),
    kvCpuUs: running.kv === null ? null : usOf("kv"),
    finalMs,
  };
}

/** Sends a load and waits until its backlog is empty. */
async function send(
  { side, hasDrain }: Running,
  load: Load,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<WrkResult & Pick<Shared, "sustained">> {
  const start = hasDrain ? await readProgress(side) : null;
  const startMs = performance.now();
  const others = side.others.map(({ url }) => url);
  const [result] = await Promise.all([wrk(side.url, load, others), meanwhile()]);
  if (start === null) return { ...result, sustained: null };
  const drainedMs = await untilDrained(side, start, result.failures);
  return { ...result, sustained: result.answered * 1_000 / (drainedMs - startMs) };
}

/** Measures the time until a cost is final, with all services in turn. */
function probes(side: Side, finalMs: number[]): Promise<unknown> {
  const endMs = performance.now() + HALF_SECONDS * 1_000;
  const services = servicesOf(side);
  return Promise.all(Array.from({ length: PROBES }, (_, n) => {
    const { url } = services[n % services.length]!;
    return repeatUntil(endMs, PROBE_PAUSE_MS, async () => {
      const ms = await lagOf(url).catch((error) => void say(`  a probe failed: ${error.message}`));
      if (ms !== undefined) finalMs.push(ms);
    });
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
  const sum = (pattern: RegExp) =>
    [...metrics.matchAll(pattern)].reduce((total, [, count]) => total + Number(count), 0);
  return {
    stored: sum(/^runledger_commits_total\{end="stored"\} (\d+)$/gm),
    lost: sum(/^runledger_commits_total\{end="lost"\} (\d+)$/gm),
    failed: sum(/^runledger_commits_total\{end="failed"\} (\d+)$/gm),
    writes: sum(/^runledger_writes_total (\d+)$/gm),
  };
}

function difference(later: Commits, earlier: Commits): Commits {
  return {
    stored: later.stored - earlier.stored,
    lost: later.lost - earlier.lost,
    failed: later.failed - earlier.failed,
    writes: later.writes - earlier.writes,
  };
}

function lostPart({ stored, lost, failed }: Commits): number {
  return lost / (stored + lost + failed);
}

const HEAD = [
  "services, round trip",
  "calls a second",
  "p50 ms",
  "p99 ms",
  "sustained",
  "commits a call",
  "writes a commit",
  "commits lost",
  "µs a call",
  "… of the KV",
  "cost final p50 ms",
  "p99 ms",
  "failures",
];

function rowOf(name: string, all: readonly Shared[]): string[] {
  const of = (value: (one: Shared) => number | null) => medianOf(all.map(value));
  const finalMs = all.flatMap(({ finalMs }) => finalMs);
  return [
    name,
    number(of(({ requestsPerSecond }) => requestsPerSecond)),
    number(of(({ p50Ms }) => p50Ms), 1),
    number(of(({ p99Ms }) => p99Ms), 1),
    number(of(({ sustained }) => sustained)),
    number(of(({ commits, answered }) => commits.stored / answered), 2),
    number(of(({ commits }) => commits.writes / commits.stored), 1),
    `${number(100 * of(({ commits }) => lostPart(commits))!, 2)} %`,
    number(of(({ cpuUs }) => cpuUs)),
    number(of(({ kvCpuUs }) => kvCpuUs)),
    number(quantile(finalMs, 0.5)),
    number(quantile(finalMs, 0.99)),
    number(all.reduce((sum, { failures }) => sum + failures, 0)),
  ];
}

/** Compares the setups, round by round. */
export function barsOf(results: Readonly<Record<string, readonly Shared[]>>): Bar[] {
  const rates = (name: string) =>
    (results[name] ?? []).map(({ requestsPerSecond }) => requestsPerSecond);
  const bars: Bar[] = [];
  const compare = (name: string, limit: number, ours: string, theirs: string) => {
    if (results[ours] === undefined || results[theirs] === undefined) return;
    bars.push(atLeast(name, limit, ratios(rates(ours), rates(theirs))));
  };
  compare("near ÷ file", BARS.near, NEAR, FILE);
  compare("90 ms ÷ before", BARS.before, FAR, BEFORE);
  for (const [name, all] of Object.entries(results)) {
    const { services, roundTripMs } = SETUPS[name]!;
    const lost = 100 * median(all.map(({ commits }) => lostPart(commits)));
    if (services > 1) bars.push(atMost(`${name}: commits lost, %`, 100 * BARS.lost, lost));
    if (roundTripMs === null || name === BEFORE) continue;
    const limitMs = roundTripMs < 90 ? BARS.finalMs.near : BARS.finalMs.far;
    const finalMs = quantile(all.flatMap(({ finalMs }) => finalMs), 0.99);
    bars.push(belowMs(`${name}: cost final p99`, limitMs, finalMs));
  }
  return bars;
}
