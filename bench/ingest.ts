/**
 * Measures the throughput of ingest calls as ratios: the service against one commit for each write,
 * against storing nothing, and one load against another.
 */
import { UsageError } from "../tools/command.ts";
import { number, table } from "../tools/table.ts";
import {
  type Call,
  CALLS,
  inTurn,
  type Load,
  LOAD_HEAD,
  loadAt,
  type LoadPlan,
  loadRow,
  measure,
  type Measured,
  rateRatios,
} from "./load.ts";
import { fillLedger } from "./fill.ts";
import { measurePipeline } from "./pipeline.ts";
import { usageOf } from "./process.ts";
import {
  atLeast,
  type Bar,
  belowMs,
  type BenchOptions,
  type BenchPart,
  print,
  say,
} from "./report.ts";
import type { SideKind } from "./service.ts";
import { startSide } from "./sides.ts";
import { mean, median } from "./stats.ts";

/** Parts by name. By default, all except the last are measured. */
const PARTS = {
  calls: measureCalls,
  fsyncs: measureFsyncs,
  variants: measureVariants,
  memory: measureMemory,
  pipeline: measurePipeline,
  growth: measureGrowth,
} as const;
type PartName = keyof typeof PARTS;
const QUICK: readonly PartName[] = ["calls", "fsyncs"];
const USUAL = (Object.keys(PARTS) as PartName[]).slice(0, -1);

/** Measures the selected parts. */
export async function bench(options: BenchOptions): Promise<Bar[]> {
  const plan = planOf(options);
  const parts: BenchPart[] = [];
  for (const name of partsOf(options)) parts.push(await PARTS[name](plan));
  print(table(LOAD_HEAD, parts.flatMap(({ rows }) => rows)));
  return parts.flatMap(({ bars }) => bars);
}

/** Returns rounds, seconds and connections of each part. */
export function planOf({ folder, quick, rounds, seconds }: BenchOptions): LoadPlan {
  const usual = quick ? 1 : 3;
  return {
    folder,
    rounds: rounds ?? usual,
    seconds: seconds ?? usual,
    connections: quick ? [64] : [64, 256],
  };
}

/** Returns the names of the selected parts. */
export function partsOf({ only, quick }: BenchOptions): readonly PartName[] {
  if (only.length === 0) return quick ? QUICK : USUAL;
  return only.map((name) => {
    if (Object.hasOwn(PARTS, name)) return name as PartName;
    throw new UsageError(`Unknown part "${name}" of ingest: --help lists the parts`);
  });
}

/**
 * Minimum ratios by call and number of connections: against one commit for each write, and against
 * storing nothing.
 */
const CALL_BARS: Readonly<
  Partial<Record<Call, Partial<Record<SideKind, Readonly<Record<number, number>>>>>>
> = {
  open: { alone: { 64: 6, 256: 7 }, nothing: { 64: 0.45, 256: 0.55 } },
  heartbeat: { alone: { 64: 6, 256: 7 }, nothing: { 64: 0.45, 256: 0.55 } },
  finish: { nothing: { 64: 0.45, 256: 0.55 } },
  events: { nothing: { 64: 0.3, 256: 0.3 } },
};

async function measureCalls(
  { folder, rounds, seconds, connections }: LoadPlan,
): Promise<BenchPart> {
  await using stack = new AsyncDisposableStack();
  const start = async (kind: SideKind) => stack.use(await startSide(kind, `${folder}/${kind}.kv`));
  const sides = {
    workless: await start("workless"),
    alone: await start("alone"),
    nothing: await start("nothing"),
  };
  const rows: string[][] = [];
  const bars: Bar[] = [];
  for (const n of connections) {
    for (const call of CALLS) {
      const load = { call, connections: n, seconds };
      const results = await inTurn(`${call}, ${n} connections`, rounds, {
        workless: () => measure(sides.workless, load),
        alone: () => measure(sides.alone, load),
        nothing: () => measure(sides.nothing, load),
      });
      rows.push(callRow(call, n, results.workless, [...results.alone, ...results.nothing]));
      for (const baseline of ["alone", "nothing"] as const) {
        const min = CALL_BARS[call]?.[baseline]?.[n];
        if (min === undefined) continue;
        const name = baseline === "alone" ? "one commit each" : "storing nothing";
        const ratios = rateRatios(results.workless, results[baseline]);
        bars.push(atLeast(`${call} ÷ ${name}, ${n} connections`, min, ratios));
      }
    }
  }
  return { rows, bars };
}

/** Builds the row of a call. Failures of the baselines are shown: a failing baseline is useless. */
export function callRow(
  call: Call,
  connections: number,
  ours: readonly Measured[],
  baselines: readonly Measured[],
): string[] {
  const row = loadRow(call, connections, ours);
  const failures = baselines.reduce((sum, baseline) => sum + baseline.failures, 0);
  return failures === 0 ? row : [...row.slice(0, -1), `${row.at(-1)} (baselines ${failures})`];
}

const WRITES: readonly Call[] = ["open", "events", "finish", "heartbeat"];
const FSYNCS_PER_WRITE_MAX = 0.05;

/** Counts syncs with strace in a separate run: stopping a server at each sync slows it down. */
async function measureFsyncs({ folder, connections }: LoadPlan): Promise<BenchPart> {
  const counts = new Map<string, number>();
  const traceTo = `${folder}/fsyncs.txt`;
  try {
    await using side = await startSide("workless", `${folder}/traced.kv`, { traceTo });
    for (const call of WRITES) {
      const load = { call, connections: Math.max(...connections), seconds: 1 };
      say(`fsyncs: ${call}, ${load.connections} connections …`);
      // The first run warms up, so that the second causes only counted syncs.
      await measure(side, load);
      const before = countSyncs(await Deno.readTextFile(traceTo));
      const { answered } = await measure(side, load);
      const syncs = countSyncs(await Deno.readTextFile(traceTo)) - before;
      if (answered > 0) counts.set(call, syncs / answered);
    }
  } catch (error) {
    // Without strace, or in a container that forbids tracing, all other parts still work.
    say(`fsyncs: not counted: ${error instanceof Error ? error.message.trim() : error}`);
  }
  return { rows: [], bars: [fsyncBar(counts)] };
}

/** Compares the syncs of each call with their bar. */
export function fsyncBar(counts: ReadonlyMap<string, number>): Bar {
  const measured = [...counts].map(([call, count]) => `${call} ${number(count, 3)}`).join(", ");
  return {
    name: "fsyncs per acknowledged write",
    bar: `< ${FSYNCS_PER_WRITE_MAX}`,
    measured: measured || "not measured",
    met: counts.size === 0 ? null : [...counts.values()].every((n) => n < FSYNCS_PER_WRITE_MAX),
  };
}

/** Counts the syncs in a trace; an interrupted call has two lines. */
export function countSyncs(trace: string): number {
  return trace.match(/\bf(?:data)?sync\(/g)?.length ?? 0;
}

const TEAMS = 1_000;
const HALF_P99_MS_MAX = 10;

/** Measures opens with retries, of many teams, and at half of the maximum rate. */
async function measureVariants({ folder, rounds, seconds }: LoadPlan): Promise<BenchPart> {
  await using side = await startSide("workless", `${folder}/variants.kv`, { teams: TEAMS });
  const load: Load = { call: "open", connections: 64, seconds };
  const { plain, retries, teams } = await inTurn("variants", rounds, {
    plain: () => measure(side, load),
    retries: () => measure(side, { ...load, retriesPercent: 5 }),
    teams: () => measure(side, { ...load, teams: TEAMS }),
  });
  const top = median(plain.map(({ requestsPerSecond }) => requestsPerSecond));
  const halfLoad = await loadAt(load, top / 2, (load) => measure(side, load));
  const { half } = await inTurn("half of the top rate", rounds, {
    half: () => measure(side, halfLoad),
  });
  const p99Ms = median(half.map((measured) => measured.p99Ms));
  return {
    rows: [
      loadRow("open, 5 % sent twice", 64, retries),
      loadRow("open, 1,000 teams", 64, teams),
      loadRow("open, half of the top rate", 64, half),
    ],
    bars: [
      atLeast("5 % retries ÷ none", 0.9, rateRatios(retries, plain)),
      atLeast("1,000 teams ÷ one team", 0.8, rateRatios(teams, plain)),
      belowMs("p99 at half of the top rate", HALF_P99_MS_MAX, p99Ms),
    ],
  };
}

/** Seconds of the memory measurement: long compared with the warm-up. */
const MEMORY_SECONDS = 60;

/** Measures opens for a long time and samples the memory each second. */
async function measureMemory({ folder }: LoadPlan): Promise<BenchPart> {
  say(`memory: ${MEMORY_SECONDS} s of opens …`);
  await using side = await startSide("ours", `${folder}/memory.kv`);
  const load: Load = { call: "open", connections: 64, seconds: MEMORY_SECONDS };
  await measure(side, { ...load, seconds: 1 });
  const rssMb: number[] = [];
  const timer = setInterval(async () => {
    const usage = await usageOf(side.pid);
    if (usage !== null && rssMb.length < MEMORY_SECONDS) rssMb.push(usage.rssMb);
  }, 1000);
  try {
    const measured = await measure(side, load);
    const rows = [loadRow(`open, ${MEMORY_SECONDS} s long`, 64, [measured])];
    return { rows, bars: [memoryBar(rssMb)] };
  } finally {
    clearInterval(timer);
  }
}

/** Memory is flat if it grows by at most a tenth after the warm-up. */
const MEMORY = { rssMb: 400, growth: 1.1 } as const;

/** Compares one-second samples with the bar: the last ten against the second ten. */
export function memoryBar(rssMb: readonly number[]): Bar {
  const bar = { name: "RSS in a long run at the top rate", bar: `< ${MEMORY.rssMb} MB, flat` };
  if (rssMb.length < 10) return { ...bar, measured: "not measured", met: null };
  const growth = mean(rssMb.slice(-10)) / mean(rssMb.slice(9, 19));
  const most = Math.max(...rssMb);
  return {
    ...bar,
    measured: `${number(most)} MB at most; last 10 s ${number(growth, 2)} of the second 10`,
    met: most < MEMORY.rssMb && growth <= MEMORY.growth,
  };
}

const STORED_RUNS = 1_000_000;

/** Measures opens on a file with many stored runs, against an empty file. */
async function measureGrowth({ folder, rounds, seconds }: LoadPlan): Promise<BenchPart> {
  const file = `${folder}/growth.kv`;
  await fillLedger(file, STORED_RUNS);
  const load: Load = { call: "open", connections: 64, seconds };
  let empties = 0;
  // Opens fill the file, so each measurement of `empty` has a new one.
  const measureOn = async (path: string) => {
    await using side = await startSide("workless", path);
    return await measure(side, load);
  };
  const { full, empty } = await inTurn("growth", rounds, {
    empty: () => measureOn(`${folder}/empty-${empties++}.kv`),
    full: () => measureOn(file),
  });
  const name = `${number(STORED_RUNS)} stored runs`;
  return {
    rows: [loadRow(`open, ${name}`, 64, full), loadRow("open, empty file beside it", 64, empty)],
    bars: [atLeast(`${name} ÷ empty`, 0.85, rateRatios(full, empty))],
  };
}
