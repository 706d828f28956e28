/** Output of a benchmark: progress on stderr, tables and bars on stdout, with their statistics. */
import { number, table } from "../tools/table.ts";

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
  /** Folder of another checkout to compare with. */
  readonly checkout?: string | undefined;
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
  const [middle, low, high] = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
  const range = ratios.length > 1 ? ` (${number(low, 2)} to ${number(high, 2)})` : "";
  const measured = `${number(middle, 2)}${range}`;
  return { name, bar: `≥ ${limit}`, measured, met: ratios.length === 0 ? null : middle >= limit };
}

/** Builds a bar for one number. */
export function atMost(name: string, limit: number, value: number): Bar {
  return {
    name,
    bar: `≤ ${number(limit, Number.isInteger(limit) ? 0 : 1)}`,
    measured: number(value, limit < 100 ? 1 : 0),
    met: value <= limit,
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

/** A column of a table of measurements: its title, and its cell for all rounds of a row. */
export type Column<T> = readonly [head: string, cell: (all: readonly T[]) => string];

/** Builds a column of medians. */
export function medians<T>(head: string, of: (one: T) => number, decimals = 0): Column<T> {
  return [head, (all) => number(median(all.map(of)), decimals)];
}

/** Returns the cells of a row. */
export function cells<T>(columns: readonly Column<T>[], all: readonly T[]): string[] {
  return columns.map(([, cell]) => cell(all));
}

/** Column of the sum of failures. */
export const failures: Column<{ readonly failures: number }> = [
  "failures",
  (all) => number(all.reduce((sum, { failures }) => sum + failures, 0)),
];

/** Returns the median; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

/** Returns a quantile, such as 0.99. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

/** Returns the mean, and the bounds of its 95 % interval by Student's distribution, approximately. */
export function mean95(values: readonly number[]): [mean: number, from: number, to: number] {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1);
  const error = (1.96 + 2.5 / (count - 1)) * Math.sqrt(variance / count);
  return [mean, mean - error, mean + error];
}

/** Divides measurements of the same round. */
export function ratios<T>(
  ours: readonly T[],
  theirs: readonly T[],
  of: (one: T) => number,
): number[] {
  return ours.flatMap((one, round) => theirs.slice(round, round + 1).map((b) => of(one) / of(b)));
}
