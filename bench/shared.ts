/**
 * Measures services over a shared KV next to one over a file: one and three services, and several
 * round trips to the store. Each measurement starts new processes and an empty ledger.
 */
import { addTo, subtractCounts } from "../domain/core/sums.ts";
import { UsageError } from "../tools/command.ts";
import { number, table } from "../tools/table.ts";
import { denokvCommand, KvProcess } from "../tests/support/fakes/denokv.ts";
import { KvProxy } from "../tests/support/fakes/kv_proxy.ts";
import { newId } from "./volume.ts";
import {
  call,
  CONNECTIONS,
  inTurn,
  type Load,
  measure,
  type Measured,
  RUN_EVENTS,
  send,
  warmUp,
} from "./load.ts";
import { outputOf, type Side, startService, usageOf } from "./process.ts";
import {
  atLeast,
  atMost,
  type Bar,
  type BenchOptions,
  cells,
  type Column,
  failures,
  median,
  medians,
  print,
  quantile,
  ratios,
  say,
} from "./report.ts";
import { OPERATOR } from "./service.ts";
import { countLoad } from "./writes.ts";

/** Setups: a service over a file, or services and milliseconds of a round trip to the shared KV. */
const FILE = "file", NEAR = "1-0ms";
const SETUPS = [FILE, NEAR, "3-0ms", "1-20ms", "3-20ms", "1-90ms", "3-90ms"];
const QUICK = [FILE, NEAR, "3-0ms", "1-90ms"];

const BARS = {
  near: 0.7,
  /** Commits of three services that are lost to races. */
  lostPercent: 0.5,
  finalMs: { near: 2_000, far: 5_000 },
  /** Mutations of a complete run. */
  mutations: 16,
} as const;

/** Seconds of the load at half of the rate. */
const HALF_SECONDS = 5;
/** Concurrent probes of the time until a cost is final, their pause, and that between two reads. */
const PROBES = 4, PROBE_PAUSE_MS = 50, POLL_MS = 5;

/** Results of one setup in one round. */
export interface Shared extends Measured {
  /** Commits by outcome, and the writes in them. */
  readonly commits: ReturnType<typeof parseCommits>;
  /** Processor seconds of the KV; NaN for a file. */
  readonly kvSeconds: number;
  /** Milliseconds from a finish to the final cost, at half of the rate. */
  readonly finalMs: readonly number[];
}

/** Measures all setups. */
export async function bench(options: BenchOptions): Promise<Bar[]> {
  const { folder, quick, connections = CONNECTIONS } = options;
  const { rounds = quick ? 1 : 3, seconds = quick ? 3 : 6 } = options;
  const denokv = denokvCommand();
  const routes = await outputOf("ip", "route", "show", "table", "local");
  // Requests of more than a packet wait for up to 40 ms a packet unless packets are confirmed at once.
  const isQuick = /^local 127\.0\.0\.1 .*quickack 1/m.test(routes);
  print(`KV: ${denokv ?? "the tests' server"}, quickack ${isQuick ? "on" : "off"}\n`);
  const load: Load = { call: "run", connections, seconds };
  const ways = setupsOf(options).map((name) => {
    const start = async () => {
      const place = await Deno.makeTempDir({ dir: folder });
      return await measureSetup(parseSetup(name), place, denokv, load);
    };
    return [name, start] as const;
  });
  const results = await inTurn("run", rounds, Object.fromEntries(ways));
  const rows = Object.entries(results).map(([name, all]) => [name, ...cells(COLUMNS, all)]);
  print(table(["services, round trip", ...COLUMNS.map(([head]) => head)], rows));
  say("mutations …");
  await using kv = await KvProcess.start(folder, denokv);
  const { mutations, units } = await countLoad(kv.url, load);
  return [
    ...barsOf(results),
    atMost("mutations of a run, near", BARS.mutations, mutations / units),
  ];
}

/** Returns the names of the selected setups. */
function setupsOf({ only, quick }: Pick<BenchOptions, "only" | "quick">): readonly string[] {
  only.forEach(parseSetup);
  return only.length > 0 ? only : quick ? QUICK : SETUPS;
}

function parseSetup(name: string) {
  if (name === FILE) return { services: 1, roundTripMs: null };
  const [, services, roundTripMs] = /^([1-9])-(\d{1,3})ms$/.exec(name) ?? [];
  if (services === undefined) throw new UsageError(`Unknown setup "${name}": ${SETUPS.join(", ")}`);
  return { services: Number(services), roundTripMs: Number(roundTripMs) };
}

async function measureSetup(
  { services, roundTripMs }: ReturnType<typeof parseSetup>,
  folder: string,
  denokv: string | null,
  load: Load,
): Promise<Shared> {
  await using stack = new AsyncDisposableStack();
  const kv = roundTripMs === null ? null : stack.use(await KvProcess.start(folder, denokv));
  let store = kv?.url ?? `${folder}/ledger.kv`;
  if (kv !== null && roundTripMs) {
    const proxy = stack.use(new KvProxy(() => kv.origin));
    proxy.knobs.delayMs = () => roundTripMs;
    store = `${proxy.origin}${kv.path}`;
  }
  const sides: Side[] = [];
  // The first one creates the team.
  while (sides.length < services) sides.push(stack.use(await startService(store)));
  await warmUp(sides, load);
  const before = await stateOf(sides, kv);
  const result = await measure(sides, load);
  const after = await stateOf(sides, kv);
  // Pauses that halve the rate.
  const rate = Math.min(result.requestsPerSecond, sustained(result));
  const pauseMs = 1000 * load.connections * (2 / rate - 1 / result.requestsPerSecond);
  const finalMs: number[] = [];
  const half = { ...load, seconds: HALF_SECONDS, pauseMs };
  await send(sides, half, () => probeAll(sides, finalMs));
  return {
    ...result,
    commits: subtractCounts(after.commits, before.commits),
    kvSeconds: after.kvSeconds - before.kvSeconds,
    finalMs,
  };
}

/** Measures the time until a cost is final, with all services in turn. */
async function probeAll(sides: readonly Side[], finalMs: number[]): Promise<void> {
  const endMs = performance.now() + HALF_SECONDS * 1_000;
  await Promise.all(Array.from({ length: PROBES }, async (_, n) => {
    while (performance.now() < endMs) {
      const ms = await lagOf(sides[n % sides.length]!)
        .catch((error) => void say(`  a probe failed: ${error.message}`));
      if (ms !== undefined) finalMs.push(ms);
      await new Promise((resolve) => setTimeout(resolve, PROBE_PAUSE_MS));
    }
  }));
}

/** Sends a complete run and measures the time from its finish until its cost is final. */
async function lagOf(side: Side): Promise<number> {
  const nowMs = Date.now();
  const now = new Date(nowMs);
  const path = `/v1/runs/${newId("run", nowMs)}`;
  const data = { provider: "openai", model: "gpt-4o", input_tokens: 1_200, output_tokens: 340 };
  const event = () => ({ id: newId("evt", nowMs), type: "llm_call", ts: now, data });
  const events = Array.from({ length: RUN_EVENTS }, event);
  const id = path.split("/").at(-1);
  await call(side, "/v1/runs", { id, agent: "probe", started_at: now });
  await call(side, `${path}/events`, { events });
  await call(side, `${path}/finish`, { status: "success", finished_at: now });
  const finishedMs = performance.now();
  while (JSON.parse(await call(side, path)).cost.state !== "final") {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return performance.now() - finishedMs;
}

/** Commits of services by outcome, and the writes in them; and the processor seconds of the KV. */
async function stateOf(sides: readonly Side[], kv: KvProcess | null) {
  const texts = await Promise.all(sides.map((side) => call(side, "/metrics", undefined, OPERATOR)));
  const usage = kv === null ? null : await usageOf(kv.pid);
  return { commits: parseCommits(texts.join("\n")), kvSeconds: usage?.cpuSeconds ?? NaN };
}

/** Adds up the commits in the text of `/metrics` of some services. */
function parseCommits(metrics: string) {
  const sums = { stored: 0, lost: 0, failed: 0, writes: 0 };
  const line = /^runledger_(?:commits_total\{end="(stored|lost|failed)"\}|writes_total) (\d+)$/gm;
  for (const [, end = "writes", count] of metrics.matchAll(line)) {
    addTo(sums, { [end]: Number(count) });
  }
  return sums;
}

const rateOf = ({ requestsPerSecond }: Shared) => requestsPerSecond;
/** Calls a second until the backlog was empty. */
const sustained = ({ answered, drainedSeconds }: Measured) => answered / drainedSeconds;
const lostPercent = ({ commits: { stored, lost, failed } }: Shared) =>
  100 * lost / (stored + lost + failed);
const finalMs = (all: readonly Shared[], part: number) =>
  quantile(all.flatMap(({ finalMs }) => finalMs), part);

/** Columns of the measurements of a setup. */
const COLUMNS: readonly Column<Shared>[] = [
  medians("calls a second", rateOf),
  medians("p50 ms", ({ p50Ms }) => p50Ms, 1),
  medians("p99 ms", ({ p99Ms }) => p99Ms, 1),
  medians("sustained", sustained),
  medians("commits a call", ({ commits, answered }) => commits.stored / answered, 2),
  medians("writes a commit", ({ commits }) => commits.writes / commits.stored, 1),
  medians("commits lost, %", lostPercent, 2),
  medians("µs a call", ({ cpuUs }) => cpuUs),
  medians("… of the KV", ({ kvSeconds, answered }) => kvSeconds * 1e6 / answered),
  ["cost final p50 ms", (all) => number(finalMs(all, 0.5))],
  ["p99 ms", (all) => number(finalMs(all, 0.99))],
  failures,
];

/** Compares the setups, round by round. */
function barsOf(results: Readonly<Record<string, readonly Shared[]>>): Bar[] {
  const { [FILE]: file = [], [NEAR]: near = [] } = results;
  const bars = file.length * near.length === 0
    ? []
    : [atLeast("near ÷ file", BARS.near, ratios(near, file, rateOf))];
  for (const [name, all] of Object.entries(results)) {
    const { services, roundTripMs } = parseSetup(name);
    if (services > 1) {
      const lost = median(all.map(lostPercent));
      bars.push(atMost(`${name}: commits lost, %`, BARS.lostPercent, lost));
    }
    if (roundTripMs === null) continue;
    const limitMs = roundTripMs < 90 ? BARS.finalMs.near : BARS.finalMs.far;
    bars.push(atMost(`${name}: cost final p99, ms`, limitMs, finalMs(all, 0.99)));
  }
  return bars;
}
