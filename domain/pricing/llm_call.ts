/**
 * Reads the usage of a model call from its payload.
 *
 * The fields of the contract take precedence. If they are absent, the payload may be a provider's
 * unchanged response, whose field names are read instead. An unreadable field is ignored and reported;
 * it never causes a refusal.
 *
 * @module
 */
import type { JsonFields } from "../core/body.ts";
import { isObject } from "../core/raw_json.ts";
import { isAbsentOr, isCount, isLabel } from "../core/rules.ts";
import { cutText, ownText } from "../core/text.ts";
import { LABEL_CHARS_MAX } from "../core/limits.ts";
import type { CallTokens } from "./rates.ts";
import {
  CONTAINERS,
  CONTRACT,
  type Form,
  FORMS,
  MODEL_FIELDS,
  OTHER_FIGURES,
  type Path,
  PROVIDER_FIELDS,
} from "./usage_fields.ts";

/** Model call with the problems found in its payload. */
export interface ReadCall {
  /** The call. */
  readonly call: LlmCall;
  /** Names of usage fields that are present but unreadable. */
  readonly unreadable: readonly string[];
  /** True if the name of the model or provider was truncated to its limit. */
  readonly isCut: boolean;
}

const NONE: readonly string[] = [];

/** Reads a model call. */
export function readLlmCall(data: JsonFields): ReadCall {
  return quickCall(data) ?? readWhole(data);
}

/** Fast path for a call with the contract's fields and nothing to report, which is nearly every call. */
function quickCall(data: JsonFields): ReadCall | null {
  const { model, provider, input_tokens, output_tokens, latency_ms, mode } = data;
  const { cached_input_tokens, cache_creation_input_tokens, reasoning_tokens } = data;
  const isPlain = isCount(input_tokens) && isCount(output_tokens) &&
    isAbsentOr(isLabel, model) &&
    isAbsentOr(isLabel, provider) &&
    isAbsentOr(isCount, latency_ms) && isAbsentOr(isCount, cached_input_tokens) &&
    isAbsentOr(isCount, cache_creation_input_tokens) && isAbsentOr(isCount, reasoning_tokens) &&
    data.cache_read_input_tokens === undefined && data.input_tokens_details === undefined &&
    data.input_token_details === undefined && data.usage === undefined &&
    isPresent(model) &&
    (isPresent(provider) || PROVIDER_FIELDS.every((name) => data[name] === undefined));
  return !isPlain ? null : {
    call: {
      model: model ?? null,
      provider: provider ?? null,
      counted: true,
      inputTokens: input_tokens,
      outputTokens: output_tokens,
      cachedInputTokens: cached_input_tokens ?? 0,
      cacheWriteTokens: cache_creation_input_tokens ?? 0,
      isBatch: mode === "batch",
    },
    unreadable: NONE,
    isCut: false,
  };
}

/** Reads any payload. */
function readWhole(data: JsonFields): ReadCall {
  const reader = new Reader(data);
  const [model, provider] = [reader.label(MODEL_FIELDS), reader.label(PROVIDER_FIELDS)];
  const counts = reader.counts(provider ?? model ?? "");
  reader.checkOthers();
  const { usage, mode } = data;
  // Anthropic marks messages from a batch this way.
  const isBatch = mode === "batch" || (isObject(usage) && usage.service_tier === "batch");
  const call = { model, provider, counted: counts !== null, ...tokensOf(counts ?? []), isBatch };
  return { call, unreadable: [...reader.unreadable], isCut: reader.isCut };
}

/** Counts of input, output, cached and written tokens; null for an absent one. */
type Counts = readonly (number | null)[];

function tokensOf([input, output, cached, written]: Counts): CallTokens {
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    cachedInputTokens: cached ?? 0,
    cacheWriteTokens: written ?? 0,
  };
}

/** Reads a payload and collects the names of unreadable fields. */
class Reader {
  readonly unreadable = new Set<string>();
  isCut = false;
  readonly #data: JsonFields;

  constructor(data: JsonFields) {
    this.#data = data;
  }

  /** Reads the first present field of `names` as text; accepts numbers and booleans. */
  label(names: readonly string[]): string | null {
    const name = names.find((candidate) => isPresent(this.#data[candidate]));
    if (name === undefined) return null;
    const value = this.#data[name];
    const isPlain = typeof value === "number" || typeof value === "boolean";
    const text = isPlain ? String(value) : value;
    if (typeof text !== "string" || !text.isWellFormed()) {
      this.unreadable.add(name);
      return null;
    }
    const cut = cutText(text, LABEL_CHARS_MAX);
    if (cut === text) return text;
    this.isCut = true;
    return ownText(cut);
  }

  /**
   * Reads the contract's counts and fills absent ones from a provider's format; null for none.
   *
   * @param sender provider or model, which may decide how cached tokens are counted
   */
  counts(sender: string): Counts | null {
    const data = this.#data;
    // A provider's field for cached tokens next to `input_tokens` means the provider's format.
    const isContract = isPresent(data.cached_input_tokens) ||
      !PROVIDER_CACHES.some((name) => isPresent(data[name]));
    const own = isContract ? this.#counts(data, CONTRACT, "", sender) : null;
    if ((own?.[0] ?? null) !== null && (own?.[1] ?? null) !== null) return own;
    const provided = this.#inForm(sender);
    return own?.map((count, i) => count ?? provided?.[i] ?? null) ?? provided;
  }

  /** Reads the counts in the first provider format that has any; null if none is readable. */
  #inForm(sender: string): Counts | null {
    const data = this.#data;
    for (const name of CONTAINERS) {
      const container = name === null ? data : data[name];
      if (!isObject(container)) continue;
      for (const form of FORMS) {
        const counts = this.#counts(container, form, name === null ? "" : `${name}.`, sender);
        if (counts !== null) return counts;
      }
    }
    return null;
  }

  /** Reports unreadable fields that are stored but not used for pricing. */
  checkOthers(): void {
    for (const name of OTHER_FIGURES) {
      const value = this.#data[name];
      const count = name === "latency_ms" ? readMilliseconds(value) : readCount(value);
      if (isPresent(value) && count === null) this.unreadable.add(name);
    }
  }

  #counts(from: JsonFields, form: Form, where: string, sender: string): Counts | null {
    if (form.onlyWith !== undefined && !isPresent(from[form.onlyWith])) return null;
    const sum = (paths: readonly Path[] = []) => this.#sum(from, paths, where, form.isFirst);
    const [input, output, cached] = [sum(form.input), sum(form.output), sum(form.cached)];
    if ((input ?? output ?? cached) === null) return null;
    const written = sum(form.written);
    const { isApart = false } = form;
    if (typeof isApart === "boolean" ? !isApart : !isApart.test(sender)) {
      return [input, output, cached, written];
    }
    const allInput = (input ?? 0) + (cached ?? 0) + (written ?? 0);
    if (Number.isSafeInteger(allInput)) return [allInput, output, cached, written];
    this.unreadable.add(`${where}input_tokens`);
    return [0, output, 0, 0];
  }

  /** Adds the counts that are present, or reads the first one; null if none is readable. */
  #sum(from: JsonFields, paths: readonly Path[], where: string, isFirst = false): number | null {
    let sum: number | null = null;
    for (const path of paths) {
      if (isFirst && sum !== null) break;
      const value = valueAt(from, path);
      if (!isPresent(value)) continue;
      const count = readCount(value);
      const next: number | null = count === null ? null : (sum ?? 0) + count;
      if (next === null || !Number.isSafeInteger(next)) {
        this.unreadable.add(where + path.join("."));
      } else sum = next;
    }
    return sum;
  }
}

/** Fields of cached tokens whose presence means a provider's format next to `input_tokens`. */
const PROVIDER_CACHES = ["cache_read_input_tokens", "input_tokens_details", "input_token_details"];

/** Returns whether a value is present; null counts as absent. */
function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function valueAt(from: JsonFields, path: Path): unknown {
  let value: unknown = from;
  for (const name of path) value = isObject(value) ? value[name] : undefined;
  return value;
}

/** Plain decimal digits, as some clients quote numbers. */
const DIGITS = /^\d{1,20}(?:\.\d{1,20})?$/;

/** Reads a number or a text of decimal digits; null for anything else. */
function readNumber(value: unknown): number | null {
  const number = typeof value === "string" && DIGITS.test(value) ? Number(value) : value;
  return typeof number === "number" ? number : null;
}

/** Reads a number of tokens; null if unreadable. */
function readCount(value: unknown): number | null {
  const number = readNumber(value);
  return isCount(number) ? number : null;
}

/** Reads a number of milliseconds, rounded; null if unreadable. */
export function readMilliseconds(value: unknown): number | null {
  const number = readNumber(value);
  if (number === null || number < 0) return null;
  const rounded = Math.round(number);
  return isCount(rounded) ? rounded : null;
}

/** Usage of one model call. */
export interface LlmCall extends CallTokens {
  /** Model as named by the client; null if absent. */
  readonly model: string | null;
  /** Provider as named by the client; null if absent. */
  readonly provider: string | null;
  /** True if any token count was sent; a call without one is not priced. */
  readonly counted: boolean;
  /** True if it was part of a batch, which is priced at batch rates. */
  readonly isBatch?: boolean;
}
