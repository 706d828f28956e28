/** The plain names of a model: its pattern in the price data, written without patterns. */
import type { MatchLogic, ModelInfo, Provider } from "@pydantic/genai-prices";

/** Characters that a beginning of a name may end in, but a name does not. */
const LOOSE_END = /[-.:@_/]+$/;

/** Beginnings that are no names: half a date, or fine-tuned models, which cost something else. */
const NOT_A_NAME = /^ft:|[-@]20\d\d$|^.?$/;

/** The model of a provider that the price data take a name for: the first whose pattern fits. */
export function resolve(provider: Provider, name: string): ModelInfo | undefined {
  return provider.models.find((model) => fits(model.match, name.toLowerCase()));
}

/**
 * Names in lower case, sorted, beginning with the id: those a pattern spells out, and the fixed
 * parts of its prefixes. Each is one the price data themselves take for this model.
 */
export function plainNames(provider: Provider, model: ModelInfo): string[] {
  const id = model.id.toLowerCase();
  const names = literals(model.match)
    .map((name) => name.toLowerCase())
    .filter((name) => name !== id && !NOT_A_NAME.test(name) && resolve(provider, name) === model);
  return [...new Set(names)].sort();
}

function literals(match: MatchLogic): string[] {
  if ("or" in match) return match.or.flatMap(literals);
  // Parts of a conjunction say too little alone, but a beginning among them names the model.
  if ("and" in match) return match.and.flatMap(literals);
  if ("equals" in match) return [match.equals];
  if ("starts_with" in match) return [match.starts_with.replace(LOOSE_END, "")];
  if ("contains" in match) return [match.contains.replace(LOOSE_END, "")];
  if ("ends_with" in match) return [match.ends_with];
  return [];
}

function fits(match: MatchLogic, name: string): boolean {
  if ("or" in match) return match.or.some((part) => fits(part, name));
  if ("and" in match) return match.and.every((part) => fits(part, name));
  if ("equals" in match) return name === match.equals.toLowerCase();
  if ("starts_with" in match) return name.startsWith(match.starts_with.toLowerCase());
  if ("ends_with" in match) return name.endsWith(match.ends_with.toLowerCase());
  if ("contains" in match) return name.includes(match.contains.toLowerCase());
  return new RegExp(match.regex).test(name);
}
