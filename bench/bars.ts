/** What must be true of the figures: each bar with what was measured. */
import type { CallResult } from "./calls.ts";
import { cellName } from "./fsyncs.ts";
import { growthOf } from "./memory.ts";
import type { Call } from "./measure.ts";
import type { Results } from "./results.ts";
import { median } from "./stats.ts";
import { number } from "./table.ts";

/** A bar; `met` is null where nothing was measured. */
export interface Bar {
  readonly name: string;
  readonly bar: string;
  readonly measured: string;
  readonly met: boolean | null;
}

/** At least these ratios, with 64 and with 256 connections. */
const RATIO_BARS: readonly {
  readonly calls: readonly Call[];
  readonly over: "overCommit" | "overNothing";
  readonly name: string;
  readonly limits: Readonly<Record<number, number>>;
}[] = [
  {
    calls: ["open", "heartbeat"],
    over: "overCommit",
    name: "one commit each",
    limits: { 64: 6, 256: 7 },
  },
  {
    calls: ["finish"],
    over: "overCommit",
    name: "one commit + one queue message each",
    limits: { 64: 5, 256: 6 },
  },
  {
    calls: ["open", "heartbeat", "finish"],
    over: "overNothing",
    name: "storing nothing",
    limits: { 64: 0.45, 256: 0.55 },
  },
  {
    calls: ["events"],
    over: "overCommit",
    name: "one commit with one checked key per event",
    limits: { 64: 5, 256: 5 },
  },
  {
    calls: ["events"],
    over: "overNothing",
    name: "storing nothing",
    limits: { 64: 0.3, 256: 0.3 },
  },
];

const CONNECTIONS = [64, 256] as const;
const WRITER_MIN = 0.8;
const RETRIES_MIN = 0.9;
const TEAMS_MIN = 0.8;
const STORED_RUNS = { runs: 1_000_000, min: 0.85 } as const;
const WORKER = { min: 0.8, lagMs: 1_000 } as const;
const GROWING_MIN = 0.7;
const HALF_P99_MS = 10;
/** Flat is what ends at most a tenth higher than it was once it was warm. */
const MEMORY = { rssMb: 400, growth: 1.1 } as const;
const FSYNCS = { connections: 256, perWrite: 0.05 } as const;
const WRITES: readonly Call[] = ["open", "events", "finish", "heartbeat"];

/** Holds results against all bars. */
export function barsOf(results: Results): Bar[] {
  return [
    ...callBars(results.calls ?? []),
    ...CONNECTIONS.map((n) => {
      const found = results.writer?.writers.find(({ callers }) => callers === n);
      return atLeast(`writer alone ÷ raw grouped SQLite, ${n} callers`, WRITER_MIN, found?.overRaw);
    }),
    atLeast("5 % retries ÷ none", RETRIES_MIN, results.variants?.overNoRetries),
    atLeast("1,000 teams ÷ one team", TEAMS_MIN, results.variants?.overOneTeam),
    atLeast(
      `${number(STORED_RUNS.runs)} stored runs ÷ empty`,
      STORED_RUNS.min,
      results.growth?.find(({ runs }) => runs === STORED_RUNS.runs)?.overEmpty,
    ),
    atLeast(
      "ingest with the worker ÷ without, beside 1,000 finishes a second",
      WORKER.min,
      results.pipeline?.overWorkless,
    ),
    lagBar(results),
    growingBar(results),
    halfBar(results),
    memoryBar(results),
    fsyncBar(results),
  ];
}

function callBars(calls: readonly CallResult[]): Bar[] {
  return RATIO_BARS.flatMap((row) =>
    row.calls.flatMap((call) =>
      CONNECTIONS.map((n) => {
        const found = calls.find((each) => each.call === call && each.connections === n);
        const name = `${call} ÷ ${row.name}, ${n} connections`;
        return atLeast(name, row.limits[n] ?? NaN, found?.[row.over]);
      })
    )
  );
}

/** A ratio's median must reach a limit. */
function atLeast(name: string, limit: number, values: readonly number[] | undefined): Bar {
  const bar = `≥ ${limit}`;
  if (values === undefined) return { name, bar, measured: "not measured", met: null };
  const [middle, low, high] = [median(values), Math.min(...values), Math.max(...values)];
  const range = values.length > 1 ? ` (${number(low, 2)} to ${number(high, 2)})` : "";
  return { name, bar, measured: `${number(middle, 2)}${range}`, met: middle >= limit };
}

function growingBar({ growing }: Results): Bar {
  const events = number((growing?.batches ?? 5_000) * 10);
  const ratio = growing && [growing.lastPerSecond / growing.firstPerSecond];
  const name = `one run growing to ${events} events: last 1,000 batches ÷ first`;
  return atLeast(name, GROWING_MIN, ratio);
}

/** Of all probes: each of them is somebody who waits. */
function lagBar({ pipeline }: Results): Bar {
  const [name, bar] = ["cost final after a finish", `< ${number(WORKER.lagMs)} ms`];
  if (pipeline === undefined) return { name, bar, measured: "not measured", met: null };
  const { lagsMs, finishesPerSecond } = pipeline;
  const worst = lagsMs.at(-1) ?? NaN;
  const rate = number(median(finishesPerSecond));
  const measured = `${number(worst)} ms at most, ${number(median(lagsMs))} ms median of ` +
    `${lagsMs.length}, at ${rate} finishes a second`;
  return { name, bar, measured, met: worst < WORKER.lagMs };
}

function halfBar({ variants }: Results): Bar {
  const [name, bar] = ["p99 at half of the top rate", `< ${HALF_P99_MS} ms`];
  if (variants === undefined) return { name, bar, measured: "not measured", met: null };
  const p99Ms = median(variants.halfP99Ms);
  const measured = `${number(p99Ms, 1)} ms at ${Math.round(variants.achieved * 100)} % of it`;
  return { name, bar, measured, met: p99Ms < HALF_P99_MS };
}

function memoryBar({ memory }: Results): Bar {
  const [name, bar] = ["RSS in a long run at the top rate", `< ${MEMORY.rssMb} MB, flat`];
  const found = growthOf(memory?.rssMb ?? []);
  if (found === null) return { name, bar, measured: "not measured", met: null };
  const { at10s, end, max, growth } = found;
  const measured = `${number(at10s)} MB after 10 s, ${number(end)} at the end, ` +
    `${number(max)} at most; last 10 s ${number(growth, 2)} of those after the first 10`;
  return { name, bar, measured, met: max < MEMORY.rssMb && growth <= MEMORY.growth };
}

function fsyncBar({ fsyncs }: Results): Bar {
  const name = `fsyncs per acknowledged write, ${FSYNCS.connections} connections`;
  const bar = `< ${FSYNCS.perWrite}`;
  const found = WRITES.map((call) => ({
    call,
    count: fsyncs?.get(cellName({ call, connections: FSYNCS.connections })),
  }));
  const counts = found.flatMap(({ count }) => count === undefined ? [] : [count]);
  if (counts.length === 0) return { name, bar, measured: "not measured", met: null };
  const measured = found.map(({ call, count }) => `${call} ${number(count ?? null, 3)}`).join(", ");
  return { name, bar, measured, met: counts.every((count) => count < FSYNCS.perWrite) };
}
