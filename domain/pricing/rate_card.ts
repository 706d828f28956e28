/**
 * A team's rate card: the default card overlaid by the team's own rows, asked by name and instant.
 *
 * @module
 */
import { DEFAULT_RATES, type DefaultRates } from "./default_rates.ts";
import { NAME_CHARS_MAX } from "./model_names.ts";
import { type Lookup, lookupsOf } from "./rate_lookups.ts";
import { indexOwnRows, type OwnRows } from "./own_rates.ts";
import type { MatchStep, RateCard, RateMatch, RateRow } from "./rates.ts";
import type { Team } from "../teams/team.ts";
import type { Problem } from "../core/errors.ts";
import type { PricedModels } from "./nearest_model.ts";
import type { RateSpec } from "./rate_body.ts";

/**
 * Bytes of names that a card remembers. A team calls some dozens of models; more than this is somebody
 * sending random names, and then forgetting all is cheaper than choosing.
 */
export const NAMES_BYTES_MAX = 32_768;

/** Bytes of a name that is remembered, without its characters. */
const NAME_BYTES = 200;

/** A card that says how much it remembers. */
export interface LearningCard extends RateCard {
  /** Bytes of the names that were asked for. */
  readonly namesBytes: number;
}

/** Stands for "no provider" among the names of providers, which are never empty. */
const NO_PROVIDER = "";

/**
 * Makes a card. It remembers what it found, so keep it as long as the rows stay the same.
 *
 * @param own the team's rows, in any order
 * @param defaults the card below them
 * @param namesBytesMax bytes of names that it remembers
 */
export function createRateCard(
  own: readonly RateRow[],
  defaults: DefaultRates = DEFAULT_RATES,
  namesBytesMax: number = NAMES_BYTES_MAX,
): LearningCard {
  const ownRows = indexOwnRows(own, defaults);
  const known = new Map<string, Map<string, readonly RateMatch[]>>();
  let bytes = 0;

  function learn(provider: string, model: string): readonly RateMatch[] {
    const added = NAME_BYTES + 2 * (provider.length + model.length);
    if (bytes + added > namesBytesMax) {
      known.clear();
      bytes = 0;
    }
    bytes += added;
    const found = findMatches(lookupsOf(provider || null, model, defaults), ownRows, defaults);
    let models = known.get(provider);
    if (models === undefined) known.set(provider, models = new Map());
    models.set(model, found);
    return found;
  }

  return {
    get namesBytes() {
      return bytes;
    },
    find(provider, model, ts) {
      if (model.length > NAME_CHARS_MAX) return null;
      const name = provider === null || provider.length > NAME_CHARS_MAX ? NO_PROVIDER : provider;
      const matches = known.get(name)?.get(model) ?? learn(name, model);
      for (const match of matches) {
        const { from } = match.row;
        if (from === null || from <= ts) return match;
      }
      return null;
    },
  };
}

/** Matches in the order they count, up to the first that is in force at any instant. */
function findMatches(
  lookups: Iterable<Lookup>,
  own: OwnRows,
  defaults: DefaultRates,
): readonly RateMatch[] {
  const matches: RateMatch[] = [];
  for (const lookup of lookups) {
    for (const row of rowsOf(lookup, own, defaults)) {
      matches.push(matchOf(row, lookup.step));
      if (row.from === null) return matches;
    }
  }
  return matches;
}

function* rowsOf(lookup: Lookup, own: OwnRows, defaults: DefaultRates): Iterable<RateRow> {
  const { name, sellers, isDashed, anyProvider } = lookup;
  const byProvider = isDashed ? defaults.dashed() : defaults.names;
  const ownOf = own.rows(name, isDashed);
  if (anyProvider) {
    yield* ownOf.ofProvider(lookup.given);
    yield* ownOf.ofProvider(null);
    yield* ownOf.ofOthers(lookup.given);
    for (const id of sellers) yield* byProvider.get(id)?.get(name) ?? [];
    return;
  }
  for (const [at, id] of sellers.entries()) {
    yield* ownOf.ofProvider(id);
    if (at === 0) yield* ownOf.ofProvider(null);
    yield* byProvider.get(id)?.get(name) ?? [];
  }
}

/** A match of each row and step for as long as the row lives: callers tell matches apart by it. */
const MATCHES = new WeakMap<RateRow, Map<MatchStep, RateMatch>>();

function matchOf(row: RateRow, step: MatchStep): RateMatch {
  let ofRow = MATCHES.get(row);
  if (ofRow === undefined) MATCHES.set(row, ofRow = new Map());
  let match = ofRow.get(step);
  if (match === undefined) ofRow.set(step, match = { row, match: step });
  return match;
}

/** Where the price of a call is looked up. */
export interface RateCards {
  /** The team's card as it is now; at once when it is in memory. */
  card(team: Pick<Team, "id">): RateCard | Promise<RateCard>;
}

/** A team's own row, and where it comes from. */
export interface OwnRate {
  /** The row. */
  readonly row: RateRow;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Identifier of the credential that put it. */
  readonly createdBy: string;
  /** Why it is so, for people. */
  readonly note?: string;
}

/** The outcome of putting a row. */
export type PutRateOutcome =
  | { readonly kind: "stored" | "replayed"; readonly rate: OwnRate }
  | { readonly kind: "refused"; readonly problem: Problem };

/** The rate cards of all teams. A change is seen at once here, within 10 s in other processes. */
export interface RateCardStore extends RateCards {
  /** The priced models of the team's card, own and default ones. */
  models(team: Pick<Team, "id">): Promise<PricedModels>;
  /** The team's own rows as stored, by model, provider and date. */
  rows(team: Team): Promise<readonly OwnRate[]>;
  /**
   * Puts a row in the place of the one for the same provider, model and date, if there is one.
   * Putting the same again changes nothing.
   *
   * @param by identifier of the credential that does it
   */
  put(team: Team, spec: RateSpec, by: string): Promise<PutRateOutcome>;
  /** Deletes an own row; null when the team has none of that id. */
  delete(team: Team, id: string, by: string): Promise<OwnRate | null>;
}
