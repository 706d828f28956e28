/**
 * Lookups on a rate card for a client's name of a model, in order of precedence.
 *
 * @module
 */
import { type DefaultRates, findProvider } from "./default_rates.ts";
import {
  dotsToDashes,
  foldName,
  type StrippedName,
  stripPrefixes,
  stripSuffixes,
} from "./model_names.ts";
import { ownProvider } from "./own_rates.ts";
import type { MatchStep } from "./rates.ts";

/** One name to look up, and the providers to search. */
export interface Lookup {
  /** Step of the lookup. */
  readonly step: MatchStep;
  /** Normalized name. */
  readonly name: string;
  /** True to replace dots by dashes in both names before comparing. */
  readonly isDashed: boolean;
  /** Providers whose default rows are searched, in order. */
  readonly sellers: readonly string[];
  /** True if the call named no known provider, so that own rows of any provider match. */
  readonly anyProvider: boolean;
  /** Provider named by the call that is not on the card; null otherwise. */
  readonly given: string | null;
}

/** Providers to search for a name. */
type Sellers = Pick<Lookup, "sellers" | "anyProvider" | "given">;

/** A name with the providers to search. */
interface Reading extends Sellers {
  readonly name: string;
}

/** Provider of names in Bedrock's format. */
const BEDROCK = "aws";

/**
 * Yields all lookups for a call in order. Callers stop at the first that finds a valid row.
 *
 * Without a known provider, all steps run twice: first for model makers, then for resellers. A cloud
 * may list the exact name `claude-haiku-4-5-20251001` at its own price while the maker's row has no
 * date; the maker's price is the right one.
 */
export function* lookupsOf(
  provider: string | null,
  model: string,
  card: DefaultRates,
): Iterable<Lookup> {
  const name = foldName(model);
  const stripped = stripPrefixes(name, (part) => findProvider(card, part) !== null);
  const named = provider === null ? null : findProvider(card, provider);
  if (named !== null) {
    const sellers = only(named, card);
    yield* steps({ name, ...sellers }, stripped.map((one) => ({ name: one.name, ...sellers })));
    return;
  }
  const given = provider === null ? null : ownProvider(provider, card);
  const resellers = card.providers.filter((id) => !card.makers.includes(id));
  for (const sellers of [card.makers, resellers]) {
    const open: Sellers = { sellers, anyProvider: true, given };
    const rest = stripped.flatMap((one) => readingsOf(one, name, open, card));
    yield* steps({ name, ...asWritten(name, stripped, open, card) }, rest);
  }
}

/**
 * Yields the lookups of all match steps.
 *
 * @param stripped readings without a prefix, longest name first
 */
function* steps(asSent: Reading, stripped: readonly Reading[]): Iterable<Lookup> {
  const all = [asSent, ...stripped];
  yield lookup("exact", asSent, asSent.name);
  for (const reading of stripped) yield lookup("provider_prefix", reading, reading.name);
  for (const reading of all) {
    for (const short of stripSuffixes(reading.name)) yield lookup("version_suffix", reading, short);
  }
  for (const reading of all) {
    for (const form of [reading.name, ...stripSuffixes(reading.name)]) {
      yield { ...lookup("dots_to_dashes", reading, dotsToDashes(form)), isDashed: true };
    }
  }
}

function lookup(step: MatchStep, { sellers, anyProvider, given }: Reading, name: string): Lookup {
  return { step, name, isDashed: false, sellers, anyProvider, given };
}

/** Returns a provider and the providers whose models it sells at their price. */
function only(provider: string, card: DefaultRates): Sellers {
  const sellers = [provider, ...card.fallbacks.get(provider) ?? []];
  return { sellers, anyProvider: false, given: null };
}

/** Returns the providers to search for a name as sent: the one it starts with, or all. */
function asWritten(
  name: string,
  stripped: readonly StrippedName[],
  open: Sellers,
  card: DefaultRates,
): Sellers {
  const first = stripped.find((one) => one.provider !== null && !one.isBedrock)?.provider;
  const id = name.includes("/") && first !== undefined && first !== null
    ? findProvider(card, first)
    : null;
  return id === null ? open : { ...open, sellers: only(id, card).sellers };
}

/** Returns the readings of a name without its prefix, for a call without a known provider. */
function readingsOf(
  { name, provider, isBedrock }: StrippedName,
  fullName: string,
  open: Sellers,
  card: DefaultRates,
): Reading[] {
  const maker = provider === null ? null : findProvider(card, provider);
  if (isBedrock) {
    const sellers = [BEDROCK, ...maker === null || maker === BEDROCK ? [] : [maker]];
    return [{ name, ...open, sellers }];
  }
  if (maker === null) return [{ name, ...open }];
  // Resellers also list complete names such as `openai/gpt-4o`.
  return [{ name, ...open, sellers: only(maker, card).sellers }, { name: fullName, ...open }];
}
