/**
 * Reads bodies that are too large or too deep to parse in one piece.
 *
 * The outline of a body, which is the body without the content of its strings, shows whether it is
 * valid JSON. Parsing the outline is fast, because all its strings and keys are equal. After that
 * only the values that a call reads are parsed. The others are found in the text.
 *
 * @module
 */
import type { Body, JsonFields } from "../core/body.ts";
import { refuse } from "../core/errors.ts";
import { BATCH_STRUCTURE_MAX, JSON_DEPTH_MAX, WHOLE_BODY_BYTES_MAX } from "../core/limits.ts";
import {
  afterSpace,
  endOfValue,
  nestsDeeperThan,
  walkArray,
  walkObject,
} from "../core/raw_json.ts";
import { fieldsOf } from "../core/validate.ts";
import { finishBody } from "./finish.ts";
import { heartbeatBody } from "./heartbeat.ts";
import { openBody } from "./open.ts";
import { scoreBody } from "./score.ts";
import { UNKNOWN_NAMES_MAX } from "./truncate.ts";

/** Shape of a large body: fields, or a batch of events. */
export type LargeShape = "fields" | "events";

/** Shape of a body. A `whole` one is refused if it is too large or too deep to parse in one piece. */
export type BodyShape = LargeShape | "whole";

/** Waits if the event loop should run other work; null if the work may go on. */
export type Pause = () => Promise<void> | null;

/** A body without the content of its strings. Both parts are JSON exactly if the body is. */
interface Outline {
  /** Everything but the scalars. */
  readonly frame: Uint8Array;
  /** Scalars of lists, each followed by a comma. */
  readonly scalars: Uint8Array;
  /** Number of `{`, `[` and `:`. */
  readonly structure: number;
}

/** Fields of the ingest calls. */
const INGEST_FIELDS: ReadonlySet<string> = new Set(
  [openBody, finishBody, heartbeatBody, scoreBody].flatMap((schema) => [...fieldsOf(schema)]),
);

/** Maximum characters of an object or a list that is parsed, so that a refusal can show it. */
const SMALL_CHARS_MAX = 1_024;

const EVENTS = "events", SCORES = "scores";

const SPACE = 32, QUOTE = 34, COMMA = 44, ZERO = 48, COLON = 58, BACKSLASH = 92, LOWER_U = 117;
const OPEN_LIST = 91, OPEN_MAP = 123;

/** Bytes of a body, or of its scalars, that are checked in one step. */
const STEP_BYTES = 1_048_576;

/** One for each byte that structures a body. */
const STRUCTURE = tableOf("{}[]:");

/** One for each byte that may follow a backslash, and for each hexadecimal digit. */
const ESCAPES = tableOf('"\\/bfnrtu'), HEX = tableOf("0123456789abcdefABCDEF");

/** Decoders of a body, which may begin with a byte order mark, and of a part, which may not. */
const utf8 = new TextDecoder(), utf8Part = new TextDecoder("utf-8", { ignoreBOM: true });

function notJson(): never {
  return refuse(
    "invalid_json",
    "The body is not valid JSON: send it complete, with its texts escaped",
  );
}

/**
 * Parses a body of any size and depth.
 *
 * @param bytes the body
 * @param text the same as text, without a byte order mark
 * @param pause is called after each step of the work
 */
export async function parseLarge(
  bytes: Uint8Array,
  text: string,
  shape: LargeShape,
  pause: Pause,
): Promise<Body> {
  if (text[afterSpace(text, 0)] !== "{") {
    return refuse("invalid_json", "The body must be a JSON object, such as {}");
  }
  await pause();
  const outline = await outlineOf(bytes, pause);
  if (outline === null) return notJson();
  const isBounded = shape === "events" && bytes.length > WHOLE_BODY_BYTES_MAX;
  if (isBounded && outline.structure > BATCH_STRUCTURE_MAX) {
    const message = `The batch has more than ${BATCH_STRUCTURE_MAX} of the characters "{", "[" ` +
      'and ":" outside of texts: send fewer events in a batch, or less data in each';
    return refuse("payload_too_large", message);
  }
  for (const part of partsOf(outline)) {
    await pause();
    if (!isJson(part)) return notJson();
  }
  await pause();
  const value = shape === "events" ? readBatch(text) : readFields(text);
  await pause();
  return value;
}

/**
 * Returns the outline of a body; null if one of its strings is not valid JSON.
 *
 * Of scalars in a row, all but the first and the last are moved out of the frame, and a 0 stands for
 * them. So a long list is not parsed in one piece, and a body that is not valid has a frame that is
 * not valid, because only a list may have the 0.
 */
async function outlineOf(bytes: Uint8Array, pause: Pause): Promise<Outline | null> {
  const frame = new Uint8Array(bytes.length), scalars = new Uint8Array(bytes.length);
  let [length, scalarsLength, structure] = [0, 0, 0];
  /** Index after the last comma in the frame; 0 if there is none since the last structure. */
  let afterComma = 0;
  let hasZero = false;
  let pauseAt = STEP_BYTES;
  for (let at = 0; at < bytes.length; at++) {
    if (at >= pauseAt) {
      await pause();
      pauseAt = at + STEP_BYTES;
    }
    const code = bytes[at] as number;
    frame[length++] = code;
    if (STRUCTURE[code] === 1) {
      if (code === OPEN_MAP || code === OPEN_LIST || code === COLON) structure++;
      afterComma = 0;
      hasZero = false;
    } else if (code === QUOTE) {
      at = closingQuote(bytes, at + 1);
      if (at < 0) return null;
      frame[length++] = QUOTE;
    } else if (code === COMMA) {
      if (afterComma > 0) {
        for (let i = afterComma; i < length; i++) scalars[scalarsLength++] = frame[i] as number;
        length = afterComma;
        if (!hasZero) {
          frame[length++] = ZERO;
          frame[length++] = COMMA;
          hasZero = true;
        }
      }
      afterComma = length;
    }
  }
  return {
    frame: frame.subarray(0, length),
    scalars: scalars.subarray(0, scalarsLength),
    structure,
  };
}

/** Returns texts that are all JSON exactly if the body is. */
function* partsOf({ frame, scalars }: Outline): Iterable<string> {
  yield utf8.decode(frame);
  for (let start = 0; start < scalars.length;) {
    const end = scalars.indexOf(COMMA, start + STEP_BYTES) + 1 || scalars.length;
    yield `[${utf8Part.decode(scalars.subarray(start, end))}0]`;
    start = end;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the index of the quote that ends a string; -1 if the string is not valid JSON. */
function closingQuote(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    const code = bytes[at] as number;
    if (code === QUOTE) return at;
    if (code < SPACE) return -1;
    if (code !== BACKSLASH) continue;
    const escape = bytes[++at] ?? 0;
    if (ESCAPES[escape] !== 1) return -1;
    const digitsEnd = escape === LOWER_U ? at + 4 : at;
    while (at < digitsEnd) {
      if (HEX[bytes[++at] ?? 0] !== 1) return -1;
    }
  }
  return -1;
}

function readFields(text: string): Body {
  const texts = new Map<string, string | null>();
  walkObject(text, afterSpace(text, 0), (name, start) => {
    const end = endOfValue(text, start);
    if (INGEST_FIELDS.has(name)) texts.set(name, text.slice(start, end));
    else noteUnknown(texts, name);
    return end;
  });
  const values = Array.from(
    texts,
    ([name, value]) => [name, value === null ? null : valueOf(name, value)] as const,
  );
  return { text, value: Object.fromEntries(values), mayBeDeep: true };
}

/**
 * Returns the value of a field. A larger object or list becomes one that stands for it, because
 * fields that may have one are read from the text, and all others need another type.
 */
function valueOf(name: string, text: string): unknown {
  const isMap = text[0] === "{";
  const isPlain = !isMap && text[0] !== "[";
  const isSmall = text.length <= SMALL_CHARS_MAX && !nestsDeeperThan(text, JSON_DEPTH_MAX);
  if (isPlain || isSmall) return JSON.parse(text);
  if (isMap) return name === SCORES ? scoresOf(text) : {};
  return text[afterSpace(text, 1)] === "]" ? [] : [0];
}

/** Returns scores by name; null for an object or a list, which is no score. */
function scoresOf(text: string): JsonFields {
  // Without a prototype, "__proto__" is a name like any other.
  const scores: Record<string, unknown> = Object.create(null);
  walkObject(text, 0, (name, start) => {
    const end = endOfValue(text, start);
    const isPlain = text[start] !== "{" && text[start] !== "[";
    scores[name] = isPlain ? JSON.parse(text.slice(start, end)) : null;
    return end;
  });
  return scores;
}

function readBatch(text: string): Body {
  const values = new Map<string, unknown>();
  let events: string[] | undefined;
  walkObject(text, afterSpace(text, 0), (name, start) => {
    if (name !== EVENTS) {
      noteUnknown(values, name);
      return endOfValue(text, start);
    }
    events = undefined;
    values.set(name, text.startsWith("null", start) ? null : {});
    if (text[start] !== "[") return endOfValue(text, start);
    const items: string[] = events = [];
    return walkArray(text, start, (at) => {
      const end = endOfValue(text, at);
      items.push(text.slice(at, end));
      return end;
    });
  });
  return { text: "{}", value: Object.fromEntries(values), events };
}

/** Records the names of some unknown fields, for the response. */
function noteUnknown(values: Map<string, unknown>, name: string): void {
  if (values.size < UNKNOWN_NAMES_MAX) values.set(name, null);
}

function tableOf(letters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const letter of letters) table[letter.charCodeAt(0)] = 1;
  return table;
}
