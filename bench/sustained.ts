/**
 * Measures the complete service: complete runs, heartbeats and pings with the worker, until the
 * backlog is empty, next to the service without the worker (the front door), to a service that
 * stores nothing, and to another checkout.
 */
import { formatPercent, number, table } from "../tools/table.ts";
import { subtractCounts } from "../domain/core/sums.ts";
import { readProgress, untilDrained } from "./backlog.ts";
import { CONNECTIONS, inTurn, type Kind, KINDS, type Load, warmUp, wrk } from "./load.ts";
import { untilIdle, usageOf } from "./process.ts";
import { atLeast, type Bar, type BenchOptions, print } from "./report.ts";
import { type Side, startCheckout, startSide } from "./sides.ts";
import { medianOf, ratios, spread } from "./stats.ts";

/** Minimum rates of each unit, as ratios. */
const BARS: Readonly<Record<Kind, { door?: number; before?: number; nothing?: number }>> = {
  run: { door: 0.9, before: 1.5 },
  heartbeat: { door: 0.7, before: 2.5, nothing: 0.45 },
  ping: {},
};

/** One measurement of a server. */
export interface Sustained {
  /** Units a second while the load lasts. */
  readonly loaded: number;
  /** Units a second from the start of the load until the backlog is empty. */
  readonly sustained: number;
  /** Units for each second of processor time of the server; null if the system has no such count. */
  readonly perCoreSecond: number | null;
  /** Median and 99th percentile of the calls, milliseconds. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rssMb: number | null;
  readonly failures: number;
}

/** Measures each kind of unit on each server. */
export async function bench(options: BenchOptions): Promise<Bar[]> {
  const { folder, quick, rest: [before] } = options;
  const { rounds = quick ? 1 : 3, seconds = quick ? 2 : 6 } = options;
  const rows: string[][] = [];
  const bars: Bar[] = [];
  await using sides = await startSides(folder, before);
  for (const kind of KINDS) {
    const load: Load = { call: kind, connections: CONNECTIONS, seconds };
    const ways = Object.fromEntries(
      Object.entries(sides.byName).map(([name, side]) => [name, () => sustain(side, load)]),
    );
    const results: Results = await inTurn(kind, rounds, ways);
    rows.push(...rowsOf(kind, results));
    bars.push(...rateBars(kind, results));
  }
  print(table(["unit", "server", ...COLUMNS.map(([head]) => head)], rows));
  return bars;
}

/** Measurements by the name of the server. */
type Results = Readonly<Record<string, readonly Sustained[]>>;

/** Names of the servers: {@link BEFORE} is the other checkout. */
const COMPLETE = "complete", DOOR = "front door", NOTHING = "storing nothing", BEFORE = "before";

async function startSides(folder: string, before: string | undefined) {
  await using stack = new AsyncDisposableStack();
  const start = async (side: Promise<Side>) => stack.use(await side);
  const byName: Record<string, Side> = {
    [COMPLETE]: await start(startCheckout(`${folder}/complete.kv`)),
    [DOOR]: await start(startSide("workless", `${folder}/door.kv`)),
    [NOTHING]: await start(startSide("nothing", `${folder}/nothing.kv`)),
    ...before === undefined
      ? {}
      : { [BEFORE]: await start(startCheckout(`${folder}/before.kv`, before)) },
  };
  const owned = stack.move();
  return { byName, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Loads a server with units of one kind and waits until its backlog is empty. */
export async function sustain(side: Side, load: Load): Promise<Sustained> {
  const origin = await readProgress(side);
  await warmUp(side, load);
  if (side.hasWorker) await untilDrained(side, origin);
  const [start, before] = [await readProgress(side), await usageOf(side.pid)];
  const startMs = performance.now();
  const { p50Ms, p99Ms, failures } = await wrk(side.url, load);
  const loadedMs = performance.now();
  const drainedMs = side.hasWorker ? await untilDrained(side, start) : loadedMs;
  // The processor time of rows that the worker removes after the sums are written also counts.
  await untilIdle(side.pid);
  const [end, after] = [await readProgress(side), await usageOf(side.pid)];
  const { finished: units } = subtractCounts(end.accepted, start.accepted);
  return {
    loaded: units * 1000 / (loadedMs - startMs),
    sustained: units * 1000 / (drainedMs - startMs),
    perCoreSecond: before && after && units / (after.cpuSeconds - before.cpuSeconds),
    p50Ms,
    p99Ms,
    rssMb: after?.rssMb ?? null,
    failures,
  };
}

/** Columns of the measurements of a server: medians, their spread, and the sum of failures. */
const COLUMNS: readonly [head: string, cell: (all: readonly Sustained[]) => string][] = [
  ["sustained", (all) => number(medianOf(all.map(({ sustained }) => sustained)))],
  ["loaded", (all) => number(medianOf(all.map(({ loaded }) => loaded)))],
  ["a core-second", (all) => number(medianOf(all.map(({ perCoreSecond }) => perCoreSecond)))],
  ["p50 ms", (all) => number(medianOf(all.map(({ p50Ms }) => p50Ms)), 1)],
  ["p99 ms", (all) => number(medianOf(all.map(({ p99Ms }) => p99Ms)), 1)],
  ["spread", (all) => formatPercent(spread(all.map(({ sustained }) => sustained)))],
  ["RSS MB", (all) => number(medianOf(all.map(({ rssMb }) => rssMb)))],
  ["failures", (all) => number(all.reduce((sum, { failures }) => sum + failures, 0))],
];

/** Builds a row for each server. */
export function rowsOf(kind: Kind, results: Results): string[][] {
  return Object.entries(results).map((
    [server, all],
  ) => [kind, server, ...COLUMNS.map(([, cell]) => cell(all))]);
}

/** Compares the sustained rate of the complete service with the other servers, round by round. */
export function rateBars(kind: Kind, results: Results): Bar[] {
  const { door, before, nothing } = BARS[kind];
  const rates = (name: string) => (results[name] ?? []).map(({ sustained }) => sustained);
  const bar = (ours: string, theirs: string, limit: number | undefined) =>
    results[theirs] === undefined || limit === undefined
      ? []
      : [atLeast(`${kind}: ${ours} ÷ ${theirs}`, limit, ratios(rates(ours), rates(theirs)))];
  return [
    ...bar(COMPLETE, DOOR, door),
    ...bar(COMPLETE, BEFORE, before),
    ...bar(DOOR, NOTHING, nothing),
  ];
}
