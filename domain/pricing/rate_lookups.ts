/**
 * Lookups on a rate card for a client's name of a model, in order of precedence.
 *
 * @module
 */
import { DEFAULT_RATES, findProvider, ownProvider } from "./default_rates.ts";
import {
  dotsToDashes,
  foldName,
  type StrippedName,
  stripPrefixes,
  stripSuffixes,
} from "./model_names.ts";
import type { MatchStep } from "./rates.ts";

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
