/**
 * Index of a team's own rows by name and provider.
 *
 * @module
 */
import { type DefaultRates, findProvider } from "./default_rates.ts";
import { dotsToDashes, foldName, providerKeys } from "./model_names.ts";
import type { RateRow } from "./rates.ts";

/** Own rows of one name; each method returns the newest first. */
export interface OwnRowsOfName {
  /** Returns the rows of a provider; rows without a provider for null. */
  ofProvider(provider: string | null): readonly RateRow[];
  /** Returns the rows of all other named providers, in the order of the card, then by name. */
  ofOthers(provider: string | null): readonly RateRow[];
}

/** A team's own rows. */
export interface OwnRows {
  /**
   * Returns the rows of a name.
   *
   * @param name normalized; with dots replaced by dashes if `isDashed`
   */
  rows(name: string, isDashed: boolean): OwnRowsOfName;
}

/** Returns the key of a provider's own rows: its id on the default card, or else its normalized name. */
export function ownProvider(provider: string, defaults: DefaultRates): string {
  return findProvider(defaults, provider) ?? providerKeys(provider)[0] ?? "";
}

/** Indexes rows by name. */
export function indexOwnRows(rows: readonly RateRow[], defaults: DefaultRates): OwnRows {
  // Among rows effective from the same instant the later id wins: ids sort by time.
  const newestFirst = rows.toSorted((a, b) =>
    (b.from ?? -Infinity) - (a.from ?? -Infinity) || (a.id < b.id ? 1 : -1)
  );
  const plain = new Map<string, RateRow[]>();
  const dashed = new Map<string, RateRow[]>();
  for (const row of newestFirst) {
    const name = foldName(row.model);
    push(plain, name, row);
    push(dashed, dotsToDashes(name), row);
  }
  const provider = (row: RateRow): string | null =>
    row.provider === null ? null : ownProvider(row.provider, defaults);
  const rank = (row: RateRow): number => {
    const at = defaults.providers.indexOf(provider(row) ?? "");
    return at === -1 ? Infinity : at;
  };
  return {
    rows(name, isDashed) {
      const named = (isDashed ? dashed : plain).get(name) ?? [];
      return {
        ofProvider: (wanted) => named.filter((row) => provider(row) === wanted),
        ofOthers: (excluded) =>
          named
            .filter((row) => row.provider !== null && provider(row) !== excluded)
            .sort((a, b) => compare(rank(a), rank(b)) || compare(provider(a), provider(b))),
      };
    },
  };
}

function push(rows: Map<string, RateRow[]>, name: string, row: RateRow): void {
  const named = rows.get(name);
  if (named === undefined) rows.set(name, [row]);
  else named.push(row);
}

function compare<T extends string | number | null>(a: T, b: T): number {
  return a === b ? 0 : (a ?? "") < (b ?? "") ? -1 : 1;
}
