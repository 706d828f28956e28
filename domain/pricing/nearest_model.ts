/**
 * The priced model nearest to one without a price: what its calls might have cost.
 *
 * An estimate for people to look at. Nothing is ever priced by it.
 *
 * @module
 */
import { DEFAULT_RATES, findProvider } from "./default_rates.ts";
import { foldName, NAME_CHARS_MAX, stripPrefixes, stripSuffixes } from "./model_names.ts";
import { ownProvider } from "./own_rates.ts";
import type { RateRow } from "./rates.ts";

/** A row as it is found: by its name cut into parts. */
interface Candidate {
  readonly row: RateRow;
  readonly name: string;
  readonly path: string;
  /** Whether it is the team's own or its provider makes models: sellers' prices differ. */
  readonly first: boolean;
}

/** A candidate and how many parts its name has in common with the one that is looked for. */
interface Found {
  readonly candidate: Candidate;
  readonly common: number;
}

/** Stands behind each part of a path; it sorts before all that parts are made of. */
const END = " ";

const MAKERS = new Set(DEFAULT_RATES.makers);

/** Bedrock's own words before a maker, in its names on the card. */
const ROUTING = /^(?:regional|global)\./;

/**
 * The priced rows of a card, indexed by their names. It is made once a card: to find the nearest model
 * then takes a moment, however many rows there are.
 */
export class PricedModels {
  readonly #all: readonly Candidate[];
  readonly #ofProviders = new Map<string, Candidate[]>();
  readonly #below: PricedModels | null;

  /**
   * Indexes rows.
   *
   * @param below the rows of another card, which count as well
   */
  constructor(rows: Iterable<RateRow>, below: PricedModels | null = null) {
    this.#below = below;
    this.#all = Array.from(rows)
      .filter(({ rates }) => rates.input !== 0 || rates.output !== 0)
      .map(candidateOf)
      .sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
    for (const candidate of this.#all) {
      const { provider } = candidate.row;
      if (provider === null) continue;
      const id = ownProvider(provider, DEFAULT_RATES);
      const theirs = this.#ofProviders.get(id);
      if (theirs === undefined) this.#ofProviders.set(id, [candidate]);
      else theirs.push(candidate);
    }
  }

  /**
   * Finds the row whose model's name has the longest beginning in common with this one.
   *
   * Names are compared in whole parts: words and numbers, cut at all else and between letters and digits.
   * At least the first must be the same. Rows of the provider are preferred; others count when it has
   * none that is similar. Of equally similar ones own rows and those of makers win, then the shortest
   * name, then the latest row, then the smallest id. Models that cost nothing say nothing about others
   * and are left out.
   *
   * @returns null when no model is similar
   */
  nearest(provider: string | null, model: string): RateRow | null {
    if (model.length > NAME_CHARS_MAX) return null;
    const path = pathOf(lastSegment(bareName(model)));
    const theirs = provider === null
      ? null
      : this.#find(path, ownProvider(provider, DEFAULT_RATES));
    return (theirs ?? this.#find(path, null))?.candidate.row ?? null;
  }

  #find(path: string, provider: string | null): Found | null {
    const sorted = provider === null ? this.#all : this.#ofProviders.get(provider) ?? [];
    const own = nearestIn(sorted, path);
    const others = this.#below === null ? null : this.#below.#find(path, provider);
    if (own === null || others === null) return own ?? others;
    if (own.common !== others.common) return own.common > others.common ? own : others;
    return isBetter(own.candidate, others.candidate) ? own : others;
  }
}

let ofDefaults: PricedModels | null = null;

/** Returns the priced rows of the default card; they are indexed when they are first asked for. */
export function defaultModels(): PricedModels {
  return ofDefaults ??= new PricedModels(DEFAULT_RATES.rows);
}

/** Finds the best of those that have the longest beginning in common with a path. */
function nearestIn(sorted: readonly Candidate[], path: string): Found | null {
  // Those that have most in common are next to where the path itself would be.
  const at = placeOf(sorted, path);
  const common = Math.max(
    commonParts(path, sorted[at - 1]?.path ?? ""),
    commonParts(path, sorted[at]?.path ?? ""),
  );
  if (common === 0) return null;
  const beginning = path.split(END, common).join(END) + END;
  let best: Candidate | null = null;
  for (let i = placeOf(sorted, beginning); i < sorted.length; i++) {
    const candidate = sorted[i];
    if (candidate === undefined || !candidate.path.startsWith(beginning)) break;
    if (best === null || isBetter(candidate, best)) best = candidate;
  }
  return best && { candidate: best, common };
}

/** The place of the first candidate whose path is not before this one. */
function placeOf(sorted: readonly Candidate[], path: string): number {
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

/** A name cut at dashes, dots, colons, slashes and spaces, and between letters and digits. */
function pathOf(name: string): string {
  return (name.match(/[a-z]+|\d+/g) ?? []).map((part) => part + END).join("");
}

/** Counts the parts that two paths begin with alike. */
function commonParts(a: string, b: string): number {
  let common = 0;
  for (let at = 0; at < a.length && a[at] === b[at]; at++) if (a[at] === END) common++;
  return common;
}

/** A name without provider, date and version. */
function bareName(model: string): string {
  const folded = foldName(model);
  const stripped = stripPrefixes(folded, (part) => findProvider(DEFAULT_RATES, part) !== null);
  const name = stripped.at(-1)?.name ?? folded;
  return stripSuffixes(name).at(-1) ?? name;
}

/** Without a maker that is no provider of the card, such as `meta-llama/…`. */
function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

function isBetter(a: Candidate, b: Candidate): boolean {
  if (a.first !== b.first) return a.first;
  if (a.name.length !== b.name.length) return a.name.length < b.name.length;
  const [from, other] = [a.row.from ?? -Infinity, b.row.from ?? -Infinity];
  return from === other ? a.row.id < b.row.id : from > other;
}
