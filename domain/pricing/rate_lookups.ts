/**
 * What to look for on a rate card, and in which order, for a model as a client names it.
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

/** One name to look for, and whose rows may have it. */
export interface Lookup {
  /** The step this belongs to. */
  readonly step: MatchStep;
  /** The name, folded. */
  readonly name: string;
  /** Whether dots are dashes, on both sides of the comparison. */
  readonly isDashed: boolean;
  /** Providers whose default rows are asked, in this order. */
  readonly sellers: readonly string[];
  /** Whether the call left the provider open, so that own rows of any provider count. */
  readonly anyProvider: boolean;
  /** The provider the call named and the card does not know; null otherwise. */
  readonly given: string | null;
}

/** Who is asked for a name. */
type Sellers = Pick<Lookup, "sellers" | "anyProvider" | "given">;

/** A name and who is asked for it. */
interface Reading extends Sellers {
  readonly name: string;
}

/** Where Bedrock's way of writing names belongs. */
const BEDROCK = "aws";

/**
 * All lookups for a call, in order. A caller stops at the first that finds a row in force.
 *
 * A call that leaves the provider open goes through all steps twice: first to those who make models,
 * then to those who sell them. A cloud may list `claude-haiku-4-5-20251001` word for word, at its own
 * price, where the maker's row has no date; the maker's price is the one that is meant.
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
  const others = card.providers.filter((id) => !card.makers.includes(id));
  for (const sellers of [card.makers, others]) {
    const open: Sellers = { sellers, anyProvider: true, given };
    const rest = stripped.flatMap((one) => readingsOf(one, name, open, card));
    yield* steps({ name, ...asWritten(name, stripped, open, card) }, rest);
  }
}

/** @param stripped readings without a prefix, the longest name first */
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

/** A provider and those whose models it sells at their price. */
function only(provider: string, card: DefaultRates): Sellers {
  const sellers = [provider, ...card.fallbacks.get(provider) ?? []];
  return { sellers, anyProvider: false, given: null };
}

/** Whom to ask for a name as it was sent, without a provider: the one it begins with, or all. */
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

/** How a name without its prefix is read when the call itself left the provider open. */
function readingsOf(
  { name, provider, isBedrock }: StrippedName,
  whole: string,
  open: Sellers,
  card: DefaultRates,
): Reading[] {
  const maker = provider === null ? null : findProvider(card, provider);
  if (isBedrock) {
    const sellers = [BEDROCK, ...maker === null || maker === BEDROCK ? [] : [maker]];
    return [{ name, ...open, sellers }];
  }
  if (maker === null) return [{ name, ...open }];
  // A name like `openai/gpt-4o` is also one of those that sellers of others' models have.
  return [{ name, ...open, sellers: only(maker, card).sellers }, { name: whole, ...open }];
}
