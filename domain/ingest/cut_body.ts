/**
 * Cuts bodies that are too large or too deep to parse in one piece.
 *
 * Only the members that a call supports are parsed, one at a time. A batch of events is cut into
 * its events. Everything else is checked to be valid JSON and left out.
 *
 * @module
 */
import { type Parsed, refuse } from "../core/errors.ts";
import {
  EVENT_BYTES_MAX,
  EVENTS_PER_BATCH_MAX,
  JSON_DEPTH_MAX,
  SCORE_NAME_CHARS_MAX,
  SCORES_MAX,
  USAGE_FIELD_BYTES_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../core/limits.ts";
import { type RawJson, writeObject } from "../core/raw_json.ts";
import { BadJson, type JsonSlice, spaceEnd, walkParts } from "../core/json_bytes.ts";
import { isScore, isScoreName } from "../core/rules.ts";
import { fieldsOf } from "../core/validate.ts";
import { finishBody } from "./finish.ts";
import { heartbeatBody } from "./heartbeat.ts";
import { openBody } from "./open.ts";
import { scoreBody } from "./score.ts";
import type { Body, CutEvent } from "../core/body.ts";
import { cutEvent, decodeRange, memberName, UNKNOWN_NAMES_MAX } from "./truncate.ts";
import type { TimeSliced } from "../core/time_slices.ts";

/** Shape of a call's body: fields, or a batch of events. */
export type CutShape = "fields" | "events";

/** Fields of the ingest calls. */
const INGEST_FIELDS: ReadonlySet<string> = new Set(
  [openBody, finishBody, heartbeatBody, scoreBody].flatMap((schema) => [...fieldsOf(schema)]),
);

/** Fields that are sliced from the text and never parsed. */
const PAYLOADS: ReadonlySet<string> = new Set(["metadata", "output"]);

/**
 * Maximum bytes of an object or list that is parsed in one slice, and of one that is sliced from
 * the text.
 */
const PARSED_BYTES_MAX = EVENT_BYTES_MAX, READ_BYTES_MAX = WHOLE_BODY_BYTES_MAX;

const EVENTS = "events", SCORES = "scores";

/** Maximum bytes of a score's name with its quotes, if each character is two escapes. */
const SCORE_NAME_BYTES_MAX = 12 * SCORE_NAME_CHARS_MAX + 2;

const OPEN_LIST = 91, CLOSE_LIST = 93, LETTER_N = 110, OPEN_MAP = 123;

/** PHP's empty object. It is its own stand-in, however much white space it contains. */
const EMPTY_LIST = "[]" as RawJson;

/** The UTF-8 byte order mark. */
const MARK = [0xef, 0xbb, 0xbf];

/** Bytes checked for valid UTF-8 per slice. */
const DECODED_BYTES = 262_144;

/** Thrown at the first event over the limit, so the rest of the body is not read. */
class TooManyEvents extends Error {}

/** Cuts a body. A yielded `null` ends a time slice. */
export function* cutBody(bytes: Uint8Array, shape: CutShape): TimeSliced<Parsed<Body>> {
  if (!(yield* isUtf8(bytes))) {
    return refuse("invalid_json", "The body is not UTF-8: encode it as UTF-8");
  }
  const start = spaceEnd(bytes, MARK.every((byte, i) => bytes[i] === byte) ? MARK.length : 0);
  if (bytes[start] !== OPEN_MAP) {
    return refuse("invalid_json", "The body must be a JSON object, such as {}");
  }
  try {
    const cut = shape === "events" ? cutBatch(bytes, start) : cutFields(bytes, start);
    return { ok: true, value: yield* cut };
  } catch (error) {
    if (error instanceof BadJson) {
      return refuse("invalid_json", `The body is not valid JSON: ${error.message}`);
    }
    if (!(error instanceof TooManyEvents)) throw error;
    const message = `The batch has more than ${EVENTS_PER_BATCH_MAX} events: send several batches`;
    return refuse("batch_too_large", message, EVENTS);
  }
}

function* isUtf8(bytes: Uint8Array): TimeSliced<boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for (let at = 0; at < bytes.length; at += DECODED_BYTES) {
      decoder.decode(bytes.subarray(at, at + DECODED_BYTES), { stream: true });
      yield null;
    }
    decoder.decode();
    return true;
  } catch {
    return false;
  }
}

function* cutFields(bytes: Uint8Array, start: number): TimeSliced<Body> {
  const texts = new Map<string, RawJson>();
  const values = new Map<string, unknown>();
  const leftOut = new Map<string, number>();
  let scores = null as JsonSlice | null;
  const end = yield* walkParts(bytes, start, (part) => {
    const name = memberName(bytes, part);
    if (!INGEST_FIELDS.has(name)) return noteUnknown(values, name);
    const standIn = standInOf(bytes, part.start);
    const isOut = standIn !== null && (standIn === EMPTY_LIST || isLeftOut(name, part));
    const text = isOut ? standIn : decodeRange(bytes, part.start, part.end);
    const parsed = standIn !== null && PAYLOADS.has(name) ? standIn : text;
    if (isOut && standIn !== EMPTY_LIST) leftOut.set(name, 1);
    else leftOut.delete(name);
    texts.set(name, text);
    values.set(name, JSON.parse(parsed));
    if (name === SCORES) scores = isOut && standIn === "{}" ? part : null;
  });
  checkEnd(bytes, end);
  if (scores !== null) {
    const { text, lost } = yield* cutScores(bytes, scores.start);
    texts.set(SCORES, text);
    values.set(SCORES, JSON.parse(text));
    if (lost > 0) leftOut.set(SCORES, lost);
    else leftOut.delete(SCORES);
  }
  const value = Object.fromEntries(values);
  return { text: writeObject(texts), value, leftOut };
}

/**
 * Keeps the first valid scores, so that invalid scores do not cause the loss of valid ones (R6).
 */
function* cutScores(bytes: Uint8Array, start: number): TimeSliced<{ text: RawJson; lost: number }> {
  const kept = new Map<string, RawJson>();
  let lost = 0;
  yield* walkParts(bytes, start, (part) => {
    const name = scoreNameOf(bytes, part);
    // For a repeated name the last value counts, even if it is invalid.
    const isRepeated = name !== null && kept.has(name);
    const isKept = name !== null && (isRepeated || kept.size < SCORES_MAX);
    const text = isKept ? scoreOf(bytes, part) : null;
    if (name !== null && text !== null) kept.set(name, text);
    else {
      lost++;
      if (isRepeated) kept.delete(name);
    }
  });
  return { text: writeObject(kept), lost };
}

/** Returns the name of a score; null for an invalid name. */
function scoreNameOf(bytes: Uint8Array, key: JsonSlice): string | null {
  if (key.keyEnd - key.keyStart > SCORE_NAME_BYTES_MAX) return null;
  const name: unknown = JSON.parse(decodeRange(bytes, key.keyStart, key.keyEnd));
  return isScoreName(name) ? name : null;
}

/** Returns the value of a score, as sent; null for an invalid value. */
function scoreOf(bytes: Uint8Array, { start, end, levels }: JsonSlice): RawJson | null {
  if (levels > 0 || end - start > USAGE_FIELD_BYTES_MAX) return null;
  const text = decodeRange(bytes, start, end);
  return isScore(JSON.parse(text)) ? text : null;
}

function* cutBatch(bytes: Uint8Array, start: number): TimeSliced<Body> {
  const values = new Map<string, unknown>();
  let slices = null as readonly JsonSlice[] | null;
  function* readList(at: number): TimeSliced<number> {
    const items: JsonSlice[] = [];
    const end = yield* walkParts(bytes, at, (event) => {
      if (items.push(event) > EVENTS_PER_BATCH_MAX) throw new TooManyEvents();
    });
    slices = items;
    return end;
  }
  const end = yield* walkParts(bytes, start, (part) => {
    const name = memberName(bytes, part);
    if (name !== EVENTS) return noteUnknown(values, name);
    slices = null;
    // Not a list: its JSON type is enough to refuse it.
    const kind = bytes[part.start] === LETTER_N ? null : {};
    values.set(EVENTS, kind);
  }, (key, at) => {
    const isList = bytes[at] === OPEN_LIST && memberName(bytes, key) === EVENTS;
    return isList ? readList(at) : null;
  });
  checkEnd(bytes, end);
  const body = { text: "{}", value: Object.fromEntries(values) };
  if (slices === null) return body;
  const events: CutEvent[] = [];
  for (const slice of slices) {
    const { start, end, levels } = slice;
    // The event itself is one level.
    const fits = end - start <= EVENT_BYTES_MAX && levels <= JSON_DEPTH_MAX;
    events.push(
      fits
        ? { text: decodeRange(bytes, start, end), isTruncated: false }
        : yield* cutEvent(bytes, start),
    );
    yield null;
  }
  return { ...body, events };
}

function checkEnd(bytes: Uint8Array, end: number): void {
  const rest = spaceEnd(bytes, end);
  if (rest < bytes.length) throw new BadJson(rest);
}

/**
 * Returns the stand-in that is parsed instead of an object or a list; null for any other value.
 */
function standInOf(bytes: Uint8Array, start: number): RawJson | null {
  const first = bytes[start];
  if (first === OPEN_MAP) return "{}" as RawJson;
  if (first !== OPEN_LIST) return null;
  // Only a list that was sent empty may be read as an empty object (R1).
  return bytes[spaceEnd(bytes, start + 1)] === CLOSE_LIST ? EMPTY_LIST : "[0]" as RawJson;
}

/**
 * Returns whether an object or a list is left out completely. Outputs are truncated later instead.
 */
function isLeftOut(name: string, { start, end, levels }: JsonSlice): boolean {
  if (name === "output") return false;
  if (PAYLOADS.has(name)) return end - start > READ_BYTES_MAX;
  return end - start > PARSED_BYTES_MAX || levels > JSON_DEPTH_MAX;
}

/** Records the names of some unknown fields, for the response. */
function noteUnknown(values: Map<string, unknown>, name: string): void {
  if (values.size < UNKNOWN_NAMES_MAX) values.set(name, null);
}
