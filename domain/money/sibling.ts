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

interface Candidate {
  readonly row: RateRow;
  readonly name: string;
  readonly common: number;
  /** Whether it is the team's own or its provider makes models: sellers' prices differ. */
  readonly first: boolean;
}

const MAKERS = new Set(DEFAULT_RATES.makers);

/** Bedrock's own words before a maker, in its names on the card. */
const ROUTING = /^(?:regional|global)\./;

/**
 * Finds the row whose model's name has the longest beginning in common with this one.
 *
 * Names are compared in whole parts, as {@link nameParts} cuts them, and at least the first must be
 * the same. Rows of the provider are preferred; others count when it has none that is similar. Of
 * equally similar ones own rows and those of makers win, then the shortest name, then the latest row,
 * then the smallest id. Models that cost nothing say nothing about others and are left out.
 *
 * @returns null when no model is similar
 */
export function nearestPriced(
  rows: Iterable<RateRow>,
  provider: string | null,
  model: string,
): RateRow | null {
  if (model.length > NAME_CHARS_MAX) return null;
  const parts = nameParts(lastSegment(bareName(model)));
  let best: Candidate | null = null;
  let bestOfProvider: Candidate | null = null;
  const wanted = provider === null ? null : ownProvider(provider, DEFAULT_RATES);
  for (const row of rows) {
    if (row.rates.input === 0 && row.rates.output === 0) continue;
    const { name, parts: others } = namedParts(row);
    const common = commonParts(parts, others);
    if (common === 0) continue;
    const first = row.source === "own" || MAKERS.has(row.provider ?? "");
    const candidate = { row, name, common, first };
    if (isBetter(candidate, best)) best = candidate;
    const isTheirs = wanted !== null && row.provider !== null &&
      ownProvider(row.provider, DEFAULT_RATES) === wanted;
    if (isTheirs && isBetter(candidate, bestOfProvider)) bestOfProvider = candidate;
  }
  return (bestOfProvider ?? best)?.row ?? null;
}

/** Cuts a name at dashes, dots, colons, slashes and spaces, and between letters and digits. */
export function nameParts(name: string): readonly string[] {
  return name.match(/[a-z]+|\d+/g) ?? [];
}

/** A name without provider, date and version. */
function bareName(model: string): string {
  const folded = foldName(model);
  const stripped = stripPrefixes(folded, (part) => findProvider(DEFAULT_RATES, part) !== null);
  const name = stripped.at(-1)?.name ?? folded;
  return stripSuffixes(name).at(-1) ?? name;
}

const PARTS = new WeakMap<RateRow, { readonly name: string; readonly parts: readonly string[] }>();

function namedParts(row: RateRow): { readonly name: string; readonly parts: readonly string[] } {
  let named = PARTS.get(row);
  if (named === undefined) {
    const name = lastSegment(bareName(row.model.replace(ROUTING, "")));
    PARTS.set(row, named = { name, parts: nameParts(name) });
  }
  return named;
}

/** Without a maker that is no provider of the card, such as `meta-llama/…`. */
function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

function commonParts(a: readonly string[], b: readonly string[]): number {
  const end = a.findIndex((part, at) => part !== b[at]);
  return end === -1 ? a.length : end;
}

function isBetter(a: Candidate, b: Candidate | null): boolean {
  if (b === null || a.common !== b.common) return b === null || a.common > b.common;
  if (a.first !== b.first) return a.first;
  if (a.name.length !== b.name.length) return a.name.length < b.name.length;
  const [from, other] = [a.row.from ?? -Infinity, b.row.from ?? -Infinity];
  return from === other ? a.row.id < b.row.id : from > other;
}
