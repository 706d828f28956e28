/**
 * Reads the figures of a model call out of its payload.
 *
 * The fields of the contract come first. Where they are absent the answer of a provider may be sent
 * unchanged: its own names are read. A figure that cannot be read is ignored and named; it never
 * refuses the call.
 *
 * @module
 */
import type { JsonFields } from "../core/body.ts";
import { isObject } from "../core/raw_json.ts";
import { isAbsentOrCount, isCount, isText } from "../core/rules.ts";
import { ownText } from "../core/text.ts";
import { LABEL_CHARS_MAX } from "../core/limits.ts";
import type { CallTokens } from "./rates.ts";
import {
  CONTAINERS,
  CONTRACT,
  type Form,
  FORMS,
  OTHER_FIGURES,
  type Path,
} from "./usage_fields.ts";

/** A model call and what of its payload could not be used as sent. */
export interface ReadCall {
  /** The call. */
  readonly call: LlmCall;
  /** Figures that are there and cannot be read, by their names. */
  readonly unreadable: readonly string[];
  /** Whether the name of the model or the provider was cut to its limit. */
  readonly isCut: boolean;
}

const NONE: readonly string[] = [];

/** Reads a call. */
export function readLlmCall(data: JsonFields): ReadCall {
  return quickCall(data) ?? readWhole(data);
}

/** Reads a call that has the contract's fields and nothing to report: nearly every one. */
function quickCall(data: JsonFields): ReadCall | null {
  const { model, provider, input_tokens, output_tokens, latency_ms, mode } = data;
  const { cached_input_tokens, cache_creation_input_tokens, reasoning_tokens } = data;
  const right = isCount(input_tokens) && isCount(output_tokens) &&
    (model === undefined || isText(model, LABEL_CHARS_MAX)) &&
    (provider === undefined || isText(provider, LABEL_CHARS_MAX)) &&
    isAbsentOrCount(latency_ms) && isAbsentOrCount(cached_input_tokens) &&
    isAbsentOrCount(cache_creation_input_tokens) && isAbsentOrCount(reasoning_tokens) &&
    data.cache_read_input_tokens === undefined && data.input_tokens_details === undefined &&
    data.usage === undefined && (model !== undefined || data.modelVersion === undefined);
  return !right ? null : {
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
  const [model, provider] = [reader.label("model", "modelVersion"), reader.label("provider")];
  const tokens = reader.tokens();
  reader.checkOthers();
  const { usage, mode } = data;
  // Anthropic says so of a message that came from a batch.
  const isBatch = mode === "batch" || (isObject(usage) && usage.service_tier === "batch");
  const call = { model, provider, counted: tokens !== null, ...tokens ?? NO_TOKENS, isBatch };
  return { call, unreadable: [...reader.unreadable], isCut: reader.isCut };
}

const NO_TOKENS = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
} as const;

/** Token counts of a call. */
type Tokens = { readonly [Name in keyof typeof NO_TOKENS]: number };

/** Reads a payload and collects what it cannot read. */
class Reader {
  readonly unreadable = new Set<string>();
  isCut = false;
  readonly #data: JsonFields;

  constructor(data: JsonFields) {
    this.#data = data;
  }

  /** Reads the first of some names that is there: text, or what stands for one. */
  label(...names: readonly string[]): string | null {
    const name = names.find((each) => isThere(this.#data[each]));
    if (name === undefined) return null;
    const value = this.#data[name];
    const isPlain = typeof value === "number" || typeof value === "boolean";
    const text = isPlain ? String(value) : value;
    if (typeof text !== "string" || !text.isWellFormed()) {
      this.unreadable.add(name);
      return null;
    }
    const isShort: boolean = isText(text, LABEL_CHARS_MAX);
    if (isShort) return text;
    this.isCut = true;
    // No character takes more than two units.
    const characters = Array.from(text.slice(0, 2 * LABEL_CHARS_MAX)).slice(0, LABEL_CHARS_MAX);
    return ownText(characters.join(""));
  }

  /** Reads the contract's counts, and from a provider's form what is absent there; null for none. */
  tokens(): Tokens | null {
    const data = this.#data;
    // What was read from a cache may be sent in a provider's way beside the contract's input.
    const isContract = isThere(data.cached_input_tokens) ||
      !(isThere(data.cache_read_input_tokens) || isThere(data.input_tokens_details));
    const own = isContract ? this.#counts(data, CONTRACT, "") : null;
    const has = (name: string) => readCount(data[name]) !== null;
    if (own !== null && has("input_tokens") && has("output_tokens")) return own;
    const found = this.#inForm();
    if (own === null || found === null) return own ?? found;
    return {
      inputTokens: (has("input_tokens") ? own : found).inputTokens,
      outputTokens: (has("output_tokens") ? own : found).outputTokens,
      cachedInputTokens: (has("cached_input_tokens") ? own : found).cachedInputTokens,
      cacheWriteTokens: (has("cache_creation_input_tokens") ? own : found).cacheWriteTokens,
    };
  }

  /** Reads the counts in the first form of a provider that has any; null where none can be read. */
  #inForm(): Tokens | null {
    const data = this.#data;
    for (const name of CONTAINERS) {
      const container = name === null ? data : data[name];
      if (!isObject(container)) continue;
      for (const form of FORMS) {
        const counts = this.#counts(container, form, name === null ? "" : `${name}.`);
        if (counts !== null) return counts;
      }
    }
    return null;
  }

  /** Names the figures that nothing is computed from, where they cannot be read. */
  checkOthers(): void {
    for (const name of OTHER_FIGURES) {
      const value = this.#data[name];
      const read = name === "latency_ms" ? readMilliseconds(value) : readCount(value);
      if (isThere(value) && read === null) this.unreadable.add(name);
    }
  }

  #counts(from: JsonFields, form: Form, where: string): Tokens | null {
    if (form.onlyWith !== undefined && !isThere(from[form.onlyWith])) return null;
    const input = this.#sum(from, form.input, where);
    const output = this.#sum(from, form.output, where);
    const cached = this.#sum(from, form.cached, where);
    if ((input ?? output ?? cached) === null) return null;
    const written = this.#sum(from, form.written, where) ?? 0;
    const apart = form.isApart ? (cached ?? 0) + written : 0;
    const whole = (input ?? 0) + apart;
    const isSafe = Number.isSafeInteger(whole);
    if (!isSafe) this.unreadable.add(`${where}input_tokens`);
    return {
      inputTokens: isSafe ? whole : 0,
      outputTokens: output ?? 0,
      cachedInputTokens: isSafe ? cached ?? 0 : 0,
      cacheWriteTokens: isSafe ? written : 0,
    };
  }

  /** Adds the figures that are there; null where none can be read. */
  #sum(from: JsonFields, paths: readonly Path[], where: string): number | null {
    let sum: number | null = null;
    for (const path of paths) {
      const value = valueAt(from, path);
      if (!isThere(value)) continue;
      const count = readCount(value);
      const next: number | null = count === null ? null : (sum ?? 0) + count;
      if (next === null || !Number.isSafeInteger(next)) {
        this.unreadable.add(where + path.join("."));
      } else sum = next;
    }
    return sum;
  }
}

/** Null is absent. */
function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function valueAt(from: JsonFields, path: Path): unknown {
  let value: unknown = from;
  for (const name of path) value = isObject(value) ? value[name] : undefined;
  return value;
}

/** Plain decimal digits, as some clients quote numbers. */
const DIGITS = /^\d{1,20}(?:\.\d{1,20})?$/;

/** Reads a number, or text of decimal digits; null for everything else. */
function readNumber(value: unknown): number | null {
  const number = typeof value === "string" && DIGITS.test(value) ? Number(value) : value;
  return typeof number === "number" ? number : null;
}

/** Reads a number of tokens. */
function readCount(value: unknown): number | null {
  const number = readNumber(value);
  return isCount(number) ? number : null;
}

/** Reads a number of milliseconds; a fraction is rounded. */
export function readMilliseconds(value: unknown): number | null {
  const number = readNumber(value);
  if (number === null || number < 0) return null;
  const rounded = Math.round(number);
  return isCount(rounded) ? rounded : null;
}

/** Usage of one model call. */
export interface LlmCall extends CallTokens {
  /** Model as named by the client, if it was. */
  readonly model: string | null;
  /** Provider as named by the client, if it was. */
  readonly provider: string | null;
  /** Whether any token count was sent: without one there is nothing to price. */
  readonly counted: boolean;
  /** Whether it was part of a batch, which costs the card's batch rates. */
  readonly isBatch?: boolean;
}
