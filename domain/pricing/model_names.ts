/**
 * Normalizes names of models and providers: the steps of `docs/RATES.md` as pure functions.
 *
 * These functions work on names alone and do not read the rate card.
 *
 * @module
 */

/** Model name without its prefix. */
export interface StrippedName {
  /** Name without the prefix. */
  readonly name: string;
  /** Provider named by the prefix, as written; null if it names none. */
  readonly provider: string | null;
  /** True for Amazon Bedrock's format, `us.anthropic.…`. */
  readonly isBedrock: boolean;
}

/**
 * Maximum characters of a name to look up. Model names are far shorter, and parsing a name must stay
 * cheap for any input.
 */
export const NAME_CHARS_MAX = 256;

/** Maximum parts stripped from either end; real names have up to four. */
const PARTS_MAX = 6;

/** Normalizes a name for comparison: lower case, without surrounding white space. */
export function foldName(name: string): string {
  return name.trim().toLowerCase();
}

/**
 * Returns the lookup keys of a provider's name: the complete name, then its first part.
 *
 * Only letters and digits count, so `x-ai`, `x_ai` and `xai` are equal. The part before the first dot
 * also names the provider, because clients send `openai.chat` and `google.vertex.chat`.
 */
export function providerKeys(provider: string): readonly [string, ...string[]] {
  const folded = foldName(provider);
  const key = folded.replace(/[^a-z0-9]/g, "");
  const dot = folded.indexOf(".");
  return dot <= 0 ? [key] : [key, folded.slice(0, dot).replace(/[^a-z0-9]/g, "")];
}

/** Path prefixes that name a resource type and not a provider. */
const PATH = /^(?:arn:aws[^/]*\/|projects\/[^/]+\/locations\/[^/]+\/|publishers\/|models\/)/;

/** Regions of Bedrock's inference profiles. `global` is excluded because it has other prices. */
const REGION = /^(?:us-gov|us|eu|apac|ap|au|jp|ca|in|sa|me|af|uk)\.(?=[a-z0-9-]+\.)/;

/** Model makers in Bedrock's format, before a dot. */
const BEDROCK_MAKER =
  /^(ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshotai|nvidia|openai|qwen|stability|writer|zai)\./;

/**
 * Strips the prefixes of a model's name one by one and returns each remaining name, longest first.
 *
 * A part before a slash is stripped only if it names a provider or is a known path: a private model
 * must not get the price of a public model with the same name.
 *
 * @param name normalized by {@link foldName}
 * @param isProvider returns whether a part names a provider on the card
 */
export function stripPrefixes(
  name: string,
  isProvider: (part: string) => boolean,
): readonly StrippedName[] {
  const stripped: StrippedName[] = [];
  let rest: StrippedName = { name, provider: null, isBedrock: false };
  while (stripped.length < PARTS_MAX) {
    const next = stripPrefix(rest.name, isProvider);
    if (next === null) break;
    const provider = next.provider ?? rest.provider;
    rest = { name: next.name, provider, isBedrock: rest.isBedrock || next.isBedrock };
    stripped.push(rest);
  }
  return stripped;
}

function stripPrefix(name: string, isProvider: (part: string) => boolean): StrippedName | null {
  const without = (length: number, provider: string | null, isBedrock: boolean) =>
    length < name.length ? { name: name.slice(length), provider, isBedrock } : null;
  const path = PATH.exec(name)?.[0];
  if (path !== undefined) return without(path.length, null, path.startsWith("arn:"));
  const slash = name.indexOf("/");
  if (slash > 0) {
    const part = name.slice(0, slash);
    return isProvider(part) ? without(slash + 1, part, false) : null;
  }
  const region = REGION.exec(name)?.[0];
  if (region !== undefined) return without(region.length, null, true);
  const maker = BEDROCK_MAKER.exec(name)?.[1];
  return maker === undefined ? null : without(maker.length + 1, maker, true);
}

/** `2024-08-06` or `20241022` after a dash or at sign; `0613` and `2411` may be separate models. */
const DATE = /[-@]20\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])$/;

/** Cohere's `-08-2024`; other providers use this format for previews, which are separate models. */
const MONTH = /(?<=^command-.*)-(?:0[1-9]|1[0-2])-20\d\d$/;

/** Bedrock's `:0` and `:24k`; a word, as in `:free` or `:thinking`, is a different variant. */
const REVISION = /:\d{1,4}k?$/;

/** Bedrock's `-v1` before a revision. */
const VERSION = /-v\d$/;

/** Suffixes that select a build of the same model. */
const SUFFIXES: readonly RegExp[] = [
  REVISION,
  DATE,
  MONTH,
  /[-@]latest$/,
  /@default$/,
  /[-@]0\d\d$/,
];

/**
 * Strips dates and versions from the end of a name one by one and returns each remaining name,
 * longest first.
 *
 * Keeps `-preview`: previews had other prices than the final models.
 *
 * @param name normalized by {@link foldName}
 */
export function stripSuffixes(name: string): readonly string[] {
  const stripped: string[] = [];
  let rest = name;
  let afterRevision = false;
  while (stripped.length < PARTS_MAX) {
    // `-v2` alone can be part of a model's name, as in `titan-embed-text-v2`; before `:0` it is a version.
    const builds: readonly RegExp[] = afterRevision ? [VERSION, ...SUFFIXES] : SUFFIXES;
    const suffix = builds.find((one) => one.test(rest));
    if (suffix === undefined) break;
    afterRevision = suffix === REVISION;
    rest = rest.replace(suffix, "");
    if (rest === "") break;
    stripped.push(rest);
  }
  return stripped;
}

/** Replaces dots by dashes: `claude-sonnet-4.5` and `claude-sonnet-4-5` are the same model. */
export function dotsToDashes(name: string): string {
  return name.replaceAll(".", "-");
}
