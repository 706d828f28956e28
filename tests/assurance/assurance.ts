/** Command line and types shared by the assurance harnesses. */
import { type Io, parseOptions, UsageError } from "../../tools/command.ts";
import { number } from "../../tools/table.ts";

/** Options of one harness run. */
export interface AssuranceOptions {
  /** Amount of work, in the unit of {@link Harness.count}; 0 if the harness counts nothing. */
  readonly count: number;
  /** Any text; the same seed repeats a run. Random by default. */
  readonly seed: string;
  /** Names of the faults, attacks or mutants to run; empty means all. */
  readonly parts: readonly string[];
  readonly list: boolean;
  readonly json: string | null;
  /** Store the digest of a workload instead of comparing it. */
  readonly record: boolean;
}

/** Runs a harness; returns true if every promise was kept. */
export type Assurance = (options: AssuranceOptions, io: Io) => Promise<boolean>;

/** A harness that is not loaded yet. */
export interface Harness {
  readonly summary: string;
  readonly takes: string;
  /** Unit and default of `--count`; null if the harness counts nothing. */
  readonly count: { readonly of: string; readonly usual: number } | null;
  readonly load: () => Promise<{ readonly run: Assurance }>;
}

/** Parses the arguments after the harness name. */
export function optionsOf({ count }: Harness, args: readonly string[]): AssuranceOptions {
  const { values, positionals } = parseOptions({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: "string" },
      count: { type: "string" },
      list: { type: "boolean", default: false },
      json: { type: "string" },
      record: { type: "boolean", default: false },
    },
  });
  if (values.count !== undefined && count === null) {
    throw new UsageError("This harness has nothing to count: leave --count out");
  }
  return {
    count: values.count === undefined ? count?.usual ?? 0 : countOf(values.count),
    seed: values.seed ?? randomSeed(),
    parts: positionals,
    list: values.list,
    json: values.json ?? null,
    record: values.record,
  };
}

/** Returns the command that repeats a run. */
export function commandOf(
  name: string,
  { count, seed }: Pick<AssuranceOptions, "count" | "seed">,
): string {
  return `deno task assure ${name} --seed=${seed} --count=${count}`;
}

/** Does something in a folder, which is kept if a promise was broken; returns whether none was. */
export async function inKeptFolder(
  seed: string,
  io: Io,
  work: (folder: string) => Promise<void>,
): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "runledger-" });
  try {
    await work(folder);
  } catch (error) {
    io.fail(error instanceof Error ? error.stack ?? error.message : String(error));
    io.fail(`Its files are in ${folder}; seed ${seed}`);
    return false;
  }
  await Deno.remove(folder, { recursive: true });
  return true;
}

/** Formats the median, upper percentiles and maximum of milliseconds. */
export function distribution(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => number(sorted[Math.ceil(sorted.length * part) - 1] ?? NaN);
  return `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms`;
}

function countOf(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new UsageError(`--count takes an integer above 0: got ${text}`);
}

/** Returns a random 30-bit seed, which fits 31-bit generators even after increments. */
function randomSeed(): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return String(random >>> 2);
}
