/** Output of a benchmark: progress on stderr, tables and bars on stdout. */
import { number, table } from "../tools/table.ts";
import { median } from "./stats.ts";

const encoder = new TextEncoder();

/** Writes progress. */
export function say(text: string): void {
  Deno.stderr.writeSync(encoder.encode(`${text}\n`));
}

/** Prints a result. */
export function print(text: string): void {
  let bytes = encoder.encode(`${text}\n`);
  // A pipe may accept only a part of the bytes.
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}

/** Options of a benchmark; absent options have a default of the benchmark. */
export interface BenchOptions {
  /** Folder for files; removed at the end. */
  readonly folder: string;
  readonly rounds?: number | undefined;
  readonly seconds?: number | undefined;
  /** Runs stored before. */
  readonly runs?: number | undefined;
  readonly connections?: number | undefined;
  /** Selected setups of the benchmark; all when empty. */
  readonly only: readonly string[];
  readonly quick: boolean;
  /** Further arguments, such as another checkout. */
  readonly rest: readonly string[];
}

/** Measures, prints tables and returns bars. */
export type Bench = (options: BenchOptions) => Promise<readonly Bar[]>;

/** A bar for a measurement; `met` is null if nothing was measured. */
export interface Bar {
  readonly name: string;
  readonly bar: string;
  readonly measured: string;
  readonly met: boolean | null;
}

/** Builds a bar for the median of ratios. */
export function atLeast(name: string, limit: number, ratios: readonly number[]): Bar {
  const bar = `≥ ${limit}`;
  if (ratios.length === 0) return { name, bar, measured: "not measured", met: null };
  const [middle, low, high] = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
  const range = ratios.length > 1 ? ` (${number(low, 2)} to ${number(high, 2)})` : "";
  return { name, bar, measured: `${number(middle, 2)}${range}`, met: middle >= limit };
}

/** Builds a bar for one number; null if it was not measured. */
export function atMost(name: string, limit: number, value: number | null): Bar {
  return {
    name,
    bar: `≤ ${number(limit, Number.isInteger(limit) ? 0 : 1)}`,
    measured: value === null ? "not measured" : number(value, limit < 100 ? 1 : 0),
    met: value === null ? null : value <= limit,
  };
}

/** Formats all bars as a table. */
export function barTable(bars: readonly Bar[]): string {
  const rows = bars.map(({ name, bar, measured, met }) => {
    const verdict = met === null ? "-" : met ? "met" : "MISSED";
    return [name, bar, measured, verdict];
  });
  return table(["name", "bar", "measured", "verdict"], rows);
}
