/**
 * How names of models and providers are read: the steps of `docs/RATES.md` as pure functions.
 *
 * Everything here works on names alone. Which rows there are is the rate card's matter.
 *
 * @module
 */

/** A name with what stood before it taken off. */
export interface StrippedName {
  /** The rest, as a model's name. */
  readonly name: string;
  /** Whom the part taken off names, as written; null when it names nobody. */
  readonly provider: string | null;
  /** Whether it was written as Amazon Bedrock writes it, `us.anthropic.…`. */
  readonly isBedrock: boolean;
}

/**
 * Longest name that is looked for. No model's name comes near it, and reading a name part by part
 * must stay cheap whatever somebody sends.
 */
export const NAME_CHARS_MAX = 256;

/** Most parts taken off either end; real names have up to four. */
const PARTS_MAX = 6;

/** Names are compared in lower case, without spaces around them. */
export function foldName(name: string): string {
  return name.trim().toLowerCase();
}

/**
 * Forms a provider's name is looked up by, the whole before its first part.
 *
 * Only letters and digits count, so `x-ai`, `x_ai` and `xai` are one. Of a name with a dot the first
 * part may stand for all, because clients write `openai.chat` and `google.vertex.chat`.
 */
export function providerKeys(provider: string): readonly string[] {
  const folded = foldName(provider);
  const whole = folded.replace(/[^a-z0-9]/g, "");
  const dot = folded.indexOf(".");
  return dot <= 0 ? [whole] : [whole, folded.slice(0, dot).replace(/[^a-z0-9]/g, "")];
}

/** Paths that name the kind of a thing and not who sells it. */
const PATH = /^(?:arn:aws[^/]*\/|projects\/[^/]+\/locations\/[^/]+\/|publishers\/|models\/)/;

/** Regions of Bedrock's inference profiles. `global` is not among them: it has other prices. */
const REGION = /^(?:us-gov|us|eu|apac|ap|au|jp|ca|in|sa|me|af|uk)\.(?=[a-z0-9-]+\.)/;

/** Makers as Bedrock writes them before a dot. */
const BEDROCK_MAKER =
  /^(ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshotai|nvidia|openai|qwen|stability|writer|zai)\./;

/**
 * Takes off what stands before a model's name, part by part, the longest rest first.
 *
 * A part before a slash is taken off only when it names a provider or is a known path: a model of
 * somebody's own must not get the price of a namesake.
 *
 * @param name folded by {@link foldName}
 * @param isProvider whether a part names a provider of the card
 */
export function stripPrefixes(
  name: string,
  isProvider: (part: string) => boolean,
): readonly StrippedName[] {
  const stripped: StrippedName[] = [];
  let provider: string | null = null;
  let isBedrock = false;
  let rest = name;
  while (stripped.length < PARTS_MAX) {
    const prefix = prefixOf(rest, isProvider);
    if (prefix === null) break;
    provider = prefix.provider ?? provider;
    isBedrock ||= prefix.isBedrock;
    rest = rest.slice(prefix.length);
    stripped.push({ name: rest, provider, isBedrock });
  }
  return stripped;
}

interface Prefix {
  readonly length: number;
  readonly provider: string | null;
  readonly isBedrock: boolean;
}

function prefixOf(name: string, isProvider: (part: string) => boolean): Prefix | null {
  const path = PATH.exec(name)?.[0];
  if (path !== undefined) return prefix(name, path.length, null, path.startsWith("arn:"));
  const slash = name.indexOf("/");
  if (slash > 0) {
    const part = name.slice(0, slash);
    return isProvider(part) ? prefix(name, slash + 1, part, false) : null;
  }
  const region = REGION.exec(name)?.[0];
  if (region !== undefined) return prefix(name, region.length, null, true);
  const maker = BEDROCK_MAKER.exec(name)?.[1];
  return maker === undefined ? null : prefix(name, maker.length + 1, maker, true);
}

function prefix(
  name: string,
  length: number,
  provider: string | null,
  isBedrock: boolean,
): Prefix | null {
  return length < name.length ? { length, provider, isBedrock } : null;
}

/** `2024-08-06` or `20241022` after a dash or an at sign; 0613 and 2411 may be models of their own. */
const DATE = /[-@]20\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])$/;

/** Cohere's `-08-2024`; others name previews so, which are models of their own. */
const MONTH = /(?<=^command-.*)-(?:0[1-9]|1[0-2])-20\d\d$/;

/** Bedrock's `:0` and `:24k`; a word as in `:free` or `:thinking` names something else. */
const REVISION = /:\d{1,4}k?$/;

/** Bedrock's `-v1` before a revision. */
const VERSION = /-v\d$/;

/** Ends of names that say which build of the same model is meant. */
const SUFFIXES: readonly RegExp[] = [
  REVISION,
  DATE,
  MONTH,
  /[-@]latest$/,
  /@default$/,
  /[-@]0\d\d$/,
];

/**
 * Takes off dates and versions at the end, one after the other, the longest rest first.
 *
 * `-preview` stays: previews were sold at other prices than what followed them.
 *
 * @param name folded by {@link foldName}
 */
export function stripSuffixes(name: string): readonly string[] {
  const stripped: string[] = [];
  let rest = name;
  let afterRevision = false;
  while (stripped.length < PARTS_MAX) {
    // `-v2` alone can be a model, as in `titan-embed-text-v2`; before `:0` it is a version.
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

/** `claude-sonnet-4.5` and `claude-sonnet-4-5` are one model. */
export function dotsToDashes(name: string): string {
  return name.replaceAll(".", "-");
}
