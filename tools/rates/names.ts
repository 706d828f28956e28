/** Lists the names of a model that its pattern in the price data accepts. */
import type { MatchLogic, ModelInfo, Provider } from "@pydantic/genai-prices";

/** Characters that a prefix may end with, but a name does not. */
const LOOSE_END = /[-.:@_/]+$/;

/** Prefixes that are no names: half a date, or fine-tuned models, which have other prices. */
const NOT_A_NAME = /^ft:|[-@]20\d\d$|^.?$/;

/** Returns the model that the price data resolve a name to: the first whose pattern matches. */
export function resolve(provider: Provider, name: string): ModelInfo | undefined {
  return provider.models.find((model) => matches(model.match, name.toLowerCase()));
}

/**
 * Lists names in lower case, sorted: the names that a pattern spells out, and the fixed parts of its
 * prefixes. The price data resolve each to this model.
 */
export function plainNames(provider: Provider, model: ModelInfo): string[] {
  const id = model.id.toLowerCase();
  const names = literals(model.match)
    .map((name) => name.toLowerCase())
    .filter((name) => name !== id && !NOT_A_NAME.test(name) && resolve(provider, name) === model);
  return [...new Set(names)].sort();
}

/** Lists the texts that a pattern compares names with. */
export function literals(match: MatchLogic): string[] {
  if ("or" in match) return match.or.flatMap(literals);
  // Parts of a conjunction match too much alone, but a prefix among them names the model.
  if ("and" in match) return match.and.flatMap(literals);
  if ("equals" in match) return [match.equals];
  if ("starts_with" in match) return [match.starts_with.replace(LOOSE_END, "")];
  if ("contains" in match) return [match.contains.replace(LOOSE_END, "")];
  if ("ends_with" in match) return [match.ends_with];
  return [];
}

function matches(match: MatchLogic, name: string): boolean {
  if ("or" in match) return match.or.some((part) => matches(part, name));
  if ("and" in match) return match.and.every((part) => matches(part, name));
  if ("equals" in match) return name === match.equals.toLowerCase();
  if ("starts_with" in match) return name.startsWith(match.starts_with.toLowerCase());
  if ("ends_with" in match) return name.endsWith(match.ends_with.toLowerCase());
  if ("contains" in match) return name.includes(match.contains.toLowerCase());
  return new RegExp(match.regex).test(name);
}
