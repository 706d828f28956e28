/**
 * A team's rate card: the default card overlaid by the team's own rows, with lookup by name and instant.
 *
 * @module
 */
import { compare } from "../core/sums.ts";
import {
  dotsToDashes,
  foldName,
  NAME_CHARS_MAX,
  type StrippedName,
  stripPrefixes,
  stripSuffixes,
} from "./model_names.ts";
import type { MatchStep, RateCard, RateMatch, RateRow } from "./rates.ts";
import type { Team } from "../teams/team.ts";
import { DEFAULT_RATES, findProvider, ownProvider } from "./default_rates.ts";

/**
 * Maximum bytes of cached names per card. A team uses dozens of models; more names than this mean
 * random input, and clearing the cache is cheaper than evicting single names.
 */
export const NAMES_BYTES_MAX = 32_768;

/** Estimated bytes of a cached name, without its characters. */
const NAME_BYTES = 200;

/** Cache key for no provider; names of providers are never empty. */
const NO_PROVIDER = "";

/**
 * Creates a card. It caches lookups, so reuse it until the rows change.
 *
 * @param own the team's rows, in any order
 * @param namesBytesMax maximum bytes of cached names
 * @returns the card, and the estimated bytes of the cached names
 */
export function createRateCard(
  own: readonly RateRow[],
  namesBytesMax: number = NAMES_BYTES_MAX,
): RateCard & { readonly namesBytes: number } {
  const ownRows = indexOwnRows(own);
  const cache = new Map<string, Map<string, readonly RateMatch[]>>();
  let bytes = 0;

  function learn(provider: string, model: string): readonly RateMatch[] {
    const added = NAME_BYTES + 2 * (provider.length + model.length);
    if (bytes + added > namesBytesMax) {
      cache.clear();
      bytes = 0;
    }
    bytes += added;
    const matches = findMatches(lookupsOf(provider || null, model), ownRows);
    let models = cache.get(provider);
    if (models === undefined) cache.set(provider, models = new Map());
    models.set(model, matches);
    return matches;
  }

  return {
    get namesBytes() {
      return bytes;
    },
    find(provider, model, ts) {
      if (model.length > NAME_CHARS_MAX) return null;
      const name = provider === null || provider.length > NAME_CHARS_MAX ? NO_PROVIDER : provider;
      const matches = cache.get(name)?.get(model) ?? learn(name, model);
      for (const match of matches) {
        const { from } = match.row;
        if (from === null || from <= ts) return match;
      }
      return null;
    },
  };
}

/** Returns matches by precedence, up to the first that is valid for all time. */
function findMatches(lookups: Iterable<Lookup>, own: OwnRows): readonly RateMatch[] {
  const matches: RateMatch[] = [];
  for (const lookup of lookups) {
    for (const row of rowsOf(lookup, own)) {
      matches.push({ row, match: lookup.step });
      if (row.from === null) return matches;
    }
  }
  return matches;
}

/** A team's own rows by name, as sent and with dots replaced by dashes. */
type OwnRows = ReturnType<typeof indexOwnRows>;

/**
 * Indexes rows by name. Rows of one name are sorted by provider in the order of the default card,
 * then by its id, newest first.
 */
function indexOwnRows(rows: readonly RateRow[]) {
  const sorted = rows.map((row) => {
    const provider = row.provider === null ? null : ownProvider(row.provider);
    const rank = DEFAULT_RATES.providers.indexOf(provider ?? "");
    return { row, provider, rank: rank === -1 ? Infinity : rank };
  }).sort((a, b) =>
    compare(a.rank, b.rank) || compare(a.provider ?? "", b.provider ?? "") ||
    // Among rows effective from the same instant the later id wins: ids sort by time.
    compare(b.row.from ?? -Infinity, a.row.from ?? -Infinity) || compare(b.row.id, a.row.id)
  );
  return {
    plain: Map.groupBy(sorted, ({ row }) => foldName(row.model)),
    dashed: Map.groupBy(sorted, ({ row }) => dotsToDashes(foldName(row.model))),
  };
}

function* rowsOf({ step, name, sellers, anyProvider, given }: Lookup, own: OwnRows) {
  const isDashed = step === "dots_to_dashes";
  const byProvider = isDashed ? DEFAULT_RATES.dashed() : DEFAULT_RATES.names;
  const named = (isDashed ? own.dashed : own.plain).get(name) ?? [];
  const rowsWhere = (isWanted: (provider: string | null) => boolean) =>
    named.filter(({ provider }) => isWanted(provider)).map(({ row }) => row);
  const anyones = rowsWhere((provider) => provider === null);
  if (anyProvider) {
    yield* rowsWhere((provider) => provider === given);
    yield* anyones;
    yield* rowsWhere((provider) => provider !== null && provider !== given);
  }
  for (const [at, id] of sellers.entries()) {
    if (!anyProvider) yield* rowsWhere((provider) => provider === id);
    if (!anyProvider && at === 0) yield* anyones;
    yield* byProvider.get(id)?.get(name) ?? [];
  }
}

/** Source of rate cards for pricing. */
export interface RateCards {
  /** Returns the team's current card, synchronously if it is cached. */
  card(team: Pick<Team, "id">): RateCard | Promise<RateCard>;
}

/** A team's own row with its origin. */
export interface OwnRate {
  /** The row. */
  readonly row: RateRow;
  /** Time of creation, unix milliseconds. */
  readonly createdAt: number;
  /** Identifier of the credential that put it. */
  readonly createdBy: string;
  /** Note for people, such as the reason. */
  readonly note?: string;
}

/** Outcome of storing a row. */
export interface PutRateOutcome {
  /** Outcome. */
  readonly kind: "stored" | "replayed";
  /** The row. */
  readonly rate: OwnRate;
}

/** One name to look up, and the providers to search. */
export interface Lookup {
  /** Step of the lookup. In the last step, dots are replaced by dashes in both names. */
  readonly step: MatchStep;
  /** Normalized name. */
  readonly name: string;
  /** Providers whose default rows are searched, in order. */
  readonly sellers: readonly string[];
  /** True if the call named no known provider, so that own rows of any provider match. */
  readonly anyProvider: boolean;
  /** Provider named by the call that is not on the card; null otherwise. */
  readonly given: string | null;
}

/** A name with the providers to search. */
type Reading = Omit<Lookup, "step">;

/** Providers to search for a name. */
type Sellers = Omit<Reading, "name">;

/** Provider of names in Bedrock's format. */
const BEDROCK = "aws";

const { makers, providers, fallbacks } = DEFAULT_RATES;
const RESELLERS = providers.filter((id) => !makers.includes(id));

/**
 * Yields all lookups for a call in order. Callers stop at the first that finds a valid row.
 *
 * Without a known provider, all steps run twice: first for model makers, then for resellers. A cloud
 * may list the exact name `claude-haiku-4-5-20251001` at its own price while the maker's row has no
 * date; the maker's price is the right one.
 */
export function* lookupsOf(provider: string | null, model: string): Iterable<Lookup> {
  const name = foldName(model);
  const stripped = stripPrefixes(name, (part) => findProvider(part) !== null);
  const named = provider === null ? null : findProvider(provider);
  if (named !== null) {
    const sellers = { sellers: withFallbacks(named), anyProvider: false, given: null };
    yield* steps({ name, ...sellers }, stripped.map((one) => ({ name: one.name, ...sellers })));
    return;
  }
  const given = provider === null ? null : ownProvider(provider);
  for (const sellers of [makers, RESELLERS]) {
    const open: Sellers = { sellers, anyProvider: true, given };
    const rest = stripped.flatMap((one) => readingsOf(one, name, open));
    yield* steps({ name, ...open, sellers: prefixSellers(name, stripped) ?? sellers }, rest);
  }
}

/**
 * Yields the lookups of all match steps.
 *
 * @param stripped readings without a prefix, longest name first
 */
function* steps(asSent: Reading, stripped: readonly Reading[]): Iterable<Lookup> {
  const all = [asSent, ...stripped];
  yield { ...asSent, step: "exact" };
  for (const reading of stripped) yield { ...reading, step: "provider_prefix" };
  for (const reading of all) {
    for (const name of stripSuffixes(reading.name)) {
      yield { ...reading, name, step: "version_suffix" };
    }
  }
  for (const reading of all) {
    for (const name of [reading.name, ...stripSuffixes(reading.name)]) {
      yield { ...reading, name: dotsToDashes(name), step: "dots_to_dashes" };
    }
  }
}

/** Returns a provider and the providers whose models it sells at their price. */
function withFallbacks(provider: string): string[] {
  return [provider, ...fallbacks.get(provider) ?? []];
}

/** Returns the providers to search for a name as sent that starts with one; null to search all. */
function prefixSellers(name: string, stripped: readonly StrippedName[]): string[] | null {
  const first = stripped.find((one) => one.provider !== null && !one.isBedrock)?.provider;
  const id = name.includes("/") ? findProvider(first ?? "") : null;
  return id === null ? null : withFallbacks(id);
}

/** Returns the readings of a name without its prefix, for a call without a known provider. */
function readingsOf(
  { name, provider, isBedrock }: StrippedName,
  fullName: string,
  open: Sellers,
): Reading[] {
  const maker = findProvider(provider ?? "");
  if (isBedrock) {
    const sellers = [BEDROCK, ...maker === null || maker === BEDROCK ? [] : [maker]];
    return [{ name, ...open, sellers }];
  }
  if (maker === null) return [{ name, ...open }];
  // Resellers also list complete names such as `openai/gpt-4o`.
  return [{ name, ...open, sellers: withFallbacks(maker) }, { name: fullName, ...open }];
}
