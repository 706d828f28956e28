/**
 * Finds the priced model most similar to an unpriced one, to estimate what its calls may have cost.
 *
 * The estimate is for display only and never prices a call.
 *
 * @module
 */
import { compare } from "../core/sums.ts";
import { DEFAULT_RATES, findProvider, ownProvider } from "./default_rates.ts";
import { foldName, NAME_CHARS_MAX, stripPrefixes, stripSuffixes } from "./model_names.ts";
import type { RateRow } from "./rates.ts";

/** Row indexed by its name in parts. */
interface Candidate {
  readonly row: RateRow;
  readonly name: string;
  readonly path: string;
  /** True for an own row or a row of a model maker: prices of resellers differ. */
  readonly first: boolean;
}

/** Terminator of each part of a path; sorts before all characters of parts. */
const END = " ";

const MAKERS = new Set(DEFAULT_RATES.makers);

/** Bedrock's routing prefixes before the maker, in its names on the card. */
const ROUTING = /^(?:regional|global)\./;

/**
 * Index of a card's priced rows by name. Built once per card, so that a search takes logarithmic time.
 */
export class PricedModels {
  /** Candidates of each provider, and all for null; sorted by path. */
  readonly #byProvider: Map<string | null, readonly Candidate[]>;
  readonly #below: PricedModels | null;

  /**
   * Indexes rows.
   *
   * @param below index of the card that this one overlays; searched too
   */
  constructor(rows: Iterable<RateRow>, below: PricedModels | null = null) {
    this.#below = below;
    const all = Array.from(rows)
      .filter(({ rates }) => rates.input !== 0 || rates.output !== 0)
      .map(candidateOf)
      .sort((a, b) => compare(a.path, b.path));
    this.#byProvider = Map.groupBy(all, ({ row }) => row.provider && ownProvider(row.provider));
    this.#byProvider.set(null, all);
  }

  /**
   * Finds the row whose model name shares the longest prefix with this name.
   *
   * Names are compared part by part, where parts are words and numbers. At least the first part must
   * match. Rows of the same provider are preferred; others are used if the provider has no similar
   * row. Among equally similar rows, own rows and rows of makers win, then the shortest name, the
   * latest row and the smallest id. Free models are excluded.
   *
   * @returns the row; null if no model is similar
   */
  nearest(provider: string | null, model: string): RateRow | null {
    if (model.length > NAME_CHARS_MAX) return null;
    const path = pathOf(lastSegment(bareName(model)));
    const nearest = this.#find(path, provider && ownProvider(provider)) ?? this.#find(path, null);
    return nearest?.candidate.row ?? null;
  }

  #find(path: string, provider: string | null): ReturnType<typeof nearestIn> {
    const own = nearestIn(this.#byProvider.get(provider) ?? [], path);
    const below = this.#below === null ? null : this.#below.#find(path, provider);
    if (own === null || below === null) return own ?? below;
    if (own.common !== below.common) return own.common > below.common ? own : below;
    return isBetter(own.candidate, below.candidate) ? own : below;
  }
}

/**
 * Finds the best of the candidates that share the longest prefix with a path, and the number of
 * name parts in the prefix.
 */
function nearestIn(sorted: readonly Candidate[], path: string) {
  // The candidates with the longest common prefix are adjacent to the path's own sort position.
  const at = indexOfPath(sorted, path);
  const common = Math.max(
    commonParts(path, sorted[at - 1]?.path ?? ""),
    commonParts(path, sorted[at]?.path ?? ""),
  );
  if (common === 0) return null;
  const beginning = path.split(END, common).join(END) + END;
  let best: Candidate | null = null;
  for (let i = indexOfPath(sorted, beginning); i < sorted.length; i++) {
    const candidate = sorted[i];
    if (candidate === undefined || !candidate.path.startsWith(beginning)) break;
    if (best === null || isBetter(candidate, best)) best = candidate;
  }
  return best && { candidate: best, common };
}

/** Returns the index of the first candidate whose path does not sort before `path`. */
function indexOfPath(sorted: readonly Candidate[], path: string): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle]?.path ?? "") < path) from = middle + 1;
    else to = middle;
  }
  return from;
}

function candidateOf(row: RateRow): Candidate {
  const name = lastSegment(bareName(row.model.replace(ROUTING, "")));
  const first = row.source === "own" || MAKERS.has(row.provider ?? "");
  return { row, name, path: pathOf(name), first };
}

/** Splits a name into words and numbers. */
function pathOf(name: string): string {
  return (name.match(/[a-z]+|\d+/g) ?? []).map((part) => part + END).join("");
}

/** Counts the leading parts that two paths share. */
function commonParts(a: string, b: string): number {
  let common = 0;
  for (let at = 0; at < a.length && a[at] === b[at]; at++) if (a[at] === END) common++;
  return common;
}

/** Returns a name without provider, date and version. */
function bareName(model: string): string {
  const folded = foldName(model);
  const stripped = stripPrefixes(folded, (part) => findProvider(part) !== null);
  const name = stripped.at(-1)?.name ?? folded;
  return stripSuffixes(name).at(-1) ?? name;
}

/** Removes a maker that is not a provider on the card, such as `meta-llama/…`. */
function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

function isBetter(a: Candidate, b: Candidate): boolean {
  if (a.first !== b.first) return a.first;
  if (a.name.length !== b.name.length) return a.name.length < b.name.length;
  const [from, other] = [a.row.from ?? -Infinity, b.row.from ?? -Infinity];
  return from === other ? a.row.id < b.row.id : from > other;
}
