/** Measures exports of many runs: their speed, and the server's memory meanwhile. */
import { number, table } from "../tools/table.ts";
import { fillLedger } from "./fill_runs.ts";
import type { BenchOptions } from "./options.ts";
import { usageOf } from "./process.ts";
import { type Bar, print, say } from "./report.ts";
import { keyOf } from "./service.ts";
import { startSide } from "./sides.ts";

/** Interval of memory samples, milliseconds. */
const SAMPLE_MS = 100;

const HEAD = ["form", "runs", "MB", "s", "runs/s", "RSS before, MB", "highest", "after"];

/** Exports runs in both formats, twice. It has no bar: docs/PERFORMANCE.md has the results. */
export async function bench({ folder, runs = 100_000 }: BenchOptions): Promise<Bar[]> {
  await fillLedger(`${folder}/exports.kv`, runs);
  await using side = await startSide("ours", `${folder}/exports.kv`);
  const rows: string[][] = [];
  for (const [round, form] of ["ndjson", "csv", "ndjson", "csv"].entries()) {
    say(`exports: ${form}, round ${round + 1} …`);
    const { lines, bytes, seconds, rssMb } = await take(`${side.url}/v1/runs.${form}`, side.pid);
    rows.push([
      form,
      // One line is the table's header, or the end marker.
      number(lines - 1),
      number(bytes / 1e6, 1),
      number(seconds, 1),
      number((lines - 1) / seconds),
      ...[rssMb[0], Math.max(...rssMb), rssMb.at(-1)].map((mb) => number(mb ?? null)),
    ]);
  }
  print(table(HEAD, rows));
  return [];
}

/** Measurements of an export. */
interface Exported {
  readonly lines: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly rssMb: readonly number[];
}

/** Reads an export at full speed and discards it. */
async function take(url: string, pid: number): Promise<Exported> {
  const rssMb: number[] = [];
  const sample = async () => void rssMb.push((await usageOf(pid))?.rssMb ?? NaN);
  await sample();
  const timer = setInterval(sample, SAMPLE_MS);
  const startMs = performance.now();
  const response = await fetch(url, { headers: { Authorization: `Bearer ${keyOf(1)}` } });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  let [lines, bytes] = [0, 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 10) lines++;
  }
  const seconds = (performance.now() - startMs) / 1_000;
  clearInterval(timer);
  await sample();
  return { lines, bytes, seconds, rssMb };
}
