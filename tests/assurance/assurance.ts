/** The command line that all harnesses share, and what each of them is run with. */
import type { Io } from "../../tools/command.ts";
import { parseOptions, UsageError } from "../../tools/command.ts";

/** What a harness is run with. */
export interface AssuranceOptions {
  /** What `--count` counts for this harness; 0 where it counts nothing. */
  readonly count: number;
  /** Any text; the same one repeats a run. Chance chooses it where none is named. */
  readonly seed: string;
  /** Parts of the harness by name, such as faults or attacks; all when empty. */
  readonly parts: readonly string[];
  /** Only lists the parts. */
  readonly list: boolean;
  /** File that results are written to as JSON; null for none. */
  readonly json: string | null;
}

/** Runs a harness; true when every promise was kept. */
export type Assurance = (options: AssuranceOptions, io: Io) => Promise<boolean>;

/** A harness before it is loaded. */
export interface Harness {
  readonly summary: string;
  readonly takes: string;
  /** What `--count` counts, and how many without it; null where nothing is counted. */
  readonly count: { readonly of: string; readonly usual: number } | null;
  readonly load: () => Promise<{ readonly run: Assurance }>;
}

/** Reads what follows the name of a harness. */
export function optionsOf({ count }: Harness, args: readonly string[]): AssuranceOptions {
  const { values, positionals } = parseOptions({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: "string" },
      count: { type: "string" },
      list: { type: "boolean", default: false },
      json: { type: "string" },
    },
  });
  if (values.count !== undefined && count === null) {
    throw new UsageError("This harness has nothing to count: leave --count out");
  }
  return {
    count: values.count === undefined ? count?.usual ?? 0 : countOf(values.count),
    seed: values.seed ?? someSeed(),
    parts: positionals,
    list: values.list,
    json: values.json ?? null,
  };
}

/** The command that repeats a run. */
export function commandOf(
  name: string,
  { count, seed }: Pick<AssuranceOptions, "count" | "seed">,
): string {
  return `deno task assure ${name} --seed=${seed} --count=${count}`;
}

function countOf(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new UsageError(`--count takes a whole number above 0: got ${text}`);
}

/** A seed that nobody chose: 30 bits, so that generators of 31 take it and many that follow. */
function someSeed(): string {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return String(random >>> 2);
}
