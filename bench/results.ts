/** Everything a run of the benchmark found, and the two tables it prints. */
import { type Bar, barsOf } from "./bars.ts";
import type { CallResult, Figures } from "./calls.ts";
import { cellName, type Fsyncs } from "./fsyncs.ts";
import type { GrowthResult } from "./growth.ts";
import { EVENTS_PER_BATCH } from "./measure.ts";
import type { MemoryResult } from "./memory.ts";
import type { PipelineResult } from "./pipeline.ts";
import { median } from "./stats.ts";
import { number, percent, table } from "./table.ts";
import type { VariantsResult } from "./variants.ts";
import type { GrowingResult, WriterResults } from "./without_http.ts";

/** What was found; a part that was not measured is absent. */
export interface Results {
  calls?: readonly CallResult[];
  fsyncs?: Fsyncs;
  variants?: VariantsResult;
  memory?: MemoryResult;
  growing?: GrowingResult;
  pipeline?: PipelineResult;
  writer?: WriterResults;
  growth?: readonly GrowthResult[];
}

const HEAD = [
  "call",
  "connections",
  "per second",
  "p50 ms",
  "p99 ms",
  "÷ one commit",
  "÷ nothing",
  "spread",
  "fsyncs each",
  "CPU µs each",
  "RSS MB",
  "failures",
] as const;

/** Both tables as Markdown. */
export function report(results: Results): string {
  const bars = barsOf(results).map(({ name, bar, measured, met }) => [
    name,
    bar,
    measured,
    verdict(met),
  ]);
  return [
    table(HEAD, rowsOf(results)),
    "",
    table(["name", "bar", "measured", "verdict"], bars),
  ].join("\n");
}

function verdict(met: Bar["met"]): string {
  if (met === null) return "-";
  return met ? "met" : "MISSED";
}

function rowsOf(results: Results): string[][] {
  const { calls = [], fsyncs = null, variants, memory, growing, pipeline, writer, growth = [] } =
    results;
  return [
    ...calls.map((found) => callRow(found, fsyncs)),
    ...(variants === undefined ? [] : [
      row("open, 5 % sent twice", 64, variants.retries),
      row("open, 1,000 teams", 64, variants.teams),
      row("open, half of the top rate", 64, variants.half),
    ]),
    ...(memory === undefined
      ? []
      : [row(`open, ${memory.rssMb.length} s long`, 64, memory.figures)]),
    ...growth.flatMap(({ runs, figures, emptyFigures, fillSeconds }) => [
      row(`open, empty file beside ${number(runs)} runs`, 64, emptyFigures),
      row(`open, ${number(runs)} runs stored in ${number(fillSeconds)} s`, 64, figures),
    ]),
    ...(pipeline === undefined
      ? []
      : [row("open, beside 1,000 finishes a second", 64, pipeline.ingest)]),
    ...(growing === undefined ? [] : [
      bare("one run, first 1,000 batches of 10", 4, growing.firstPerSecond),
      bare("one run, last 1,000 batches of 10", 4, growing.lastPerSecond),
    ]),
    ...(writer?.writers ?? []).map(({ callers, writesPerSecond, spread }) =>
      bare("writer alone, no HTTP", callers, writesPerSecond, spread)
    ),
    ...(writer === undefined
      ? []
      : [bare("raw grouped SQLite, no HTTP", 1, writer.rawPerSecond, writer.rawSpread)]),
  ];
}

function callRow(found: CallResult, fsyncs: Fsyncs): string[] {
  const { call, connections, figures, overCommit, overNothing, baselineFailures } = found;
  const cells = row(call, connections, figures);
  if (call === "events") {
    cells[2] += ` (${number(figures.requestsPerSecond * EVENTS_PER_BATCH)} events)`;
  }
  cells[5] = number(median(overCommit), 2);
  cells[6] = number(median(overNothing), 2);
  cells[8] = number(fsyncs?.get(cellName(found)) ?? null, 3);
  // A baseline that fails is no baseline: it must show.
  if (baselineFailures > 0) cells[11] += ` (others ${baselineFailures})`;
  return cells;
}

function row(name: string, connections: number, figures: Figures): string[] {
  return [
    name,
    String(connections),
    number(figures.requestsPerSecond),
    number(figures.p50Ms, 1),
    number(figures.p99Ms, 1),
    "-",
    "-",
    percent(figures.spread),
    "-",
    number(figures.cpuUs),
    number(figures.rssMb),
    String(figures.failures),
  ];
}

/** A row of what has no connections but callers, and no figures but a rate. */
function bare(name: string, callers: number, perSecond: number, spread: number | null = null) {
  const rest = ["-", "-", "-", "-", percent(spread), "-", "-", "-", "-"];
  return [name, String(callers), number(perSecond), ...rest];
}
