/**
 * Bodies that are not parsed whole: too large, or too deep.
 *
 * Only the members that a call knows are parsed, one at a time; a batch of events is cut into its events.
 * All else is checked to be JSON and left out.
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
import type { CutEvent } from "../core/body.ts";
import { cutEvent, memberName, textOf, UNKNOWN_NAMES_MAX } from "./truncate.ts";
import type { TimeSliced } from "../core/time_slices.ts";

/** What a call's body is: fields, or a batch of events. */
export type CutShape = "fields" | "events";

/** What is left of a body. */
export interface CutBody {
  /** The members that the call knows, as text. */
  readonly text: string;
  /** The same, parsed; a payload is only the kind of value that it is. */
  readonly value: Readonly<Record<string, unknown>>;
  /** The events of a batch; absent where `events` is no list. */
  readonly events?: readonly CutEvent[];
  /** Fields that are left out although the call knows them, and how many values of each. */
  readonly leftOut: ReadonlyMap<string, number>;
}

/** Fields of the ingest calls. */
const INGEST_FIELDS: ReadonlySet<string> = new Set(
  [openBody, finishBody, heartbeatBody, scoreBody].flatMap((schema) => [...fieldsOf(schema)]),
);

/** Fields that are read from their text, never parsed. */
const PAYLOADS: ReadonlySet<string> = new Set(["metadata", "output"]);

/** Bytes of an object or list that is parsed in one slice, and of one that is read from its text. */
const PARSED_BYTES_MAX = EVENT_BYTES_MAX, READ_BYTES_MAX = WHOLE_BODY_BYTES_MAX;

const EVENTS = "events", SCORES = "scores";

/** Bytes of a score's name with its quotes, where each character is two escapes. */
const SCORE_NAME_BYTES_MAX = 12 * SCORE_NAME_CHARS_MAX + 2;

const NONE_LEFT_OUT: ReadonlyMap<string, number> = new Map();

const OPEN_LIST = 91, CLOSE_LIST = 93, LETTER_N = 110, OPEN_MAP = 123;

/** PHP's empty object: it stands for itself, however much space is in it. */
const EMPTY_LIST = "[]" as RawJson;

/** The mark that some programs begin UTF-8 with. */
const MARK = [0xef, 0xbb, 0xbf];

/** Bytes whose encoding is checked in one slice. */
const DECODED_BYTES = 262_144;

/** Thrown at the first event that is one too many: the rest of a body is not read. */
class TooManyEvents extends Error {}

/** Cuts a body. `null` ends a slice. */
export function* cutBody(bytes: Uint8Array, shape: CutShape): TimeSliced<Parsed<CutBody>> {
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

function* cutFields(bytes: Uint8Array, start: number): TimeSliced<CutBody> {
  const texts = new Map<string, RawJson>();
  const values = new Map<string, unknown>();
  const leftOut = new Map<string, number>();
  let scores = null as JsonSlice | null;
  const end = yield* walkParts(bytes, start, (part) => {
    const name = memberName(bytes, part);
    if (!INGEST_FIELDS.has(name)) return noteUnknown(values, name);
    const standIn = standInOf(bytes, part.start);
    const isOut = standIn !== null && (standIn === EMPTY_LIST || isLeftOut(name, part));
    const text = isOut ? standIn : textOf(bytes, part.start, part.end);
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

/** Keeps the first scores that fit, so that the others cost nobody theirs (R6). */
function* cutScores(bytes: Uint8Array, start: number): TimeSliced<{ text: RawJson; lost: number }> {
  const kept = new Map<string, RawJson>();
  let lost = 0;
  yield* walkParts(bytes, start, (part) => {
    const name = scoreNameOf(bytes, part);
    // Of a repeated name the last value counts, also where that is none.
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

/** The name of a score; null for one that no score can have. */
function scoreNameOf(bytes: Uint8Array, key: JsonSlice): string | null {
  if (key.keyEnd - key.keyStart > SCORE_NAME_BYTES_MAX) return null;
  const name: unknown = JSON.parse(textOf(bytes, key.keyStart, key.keyEnd));
  return isScoreName(name) ? name : null;
}

/** What a score says, as sent; null for anything else. */
function scoreOf(bytes: Uint8Array, { start, end, levels }: JsonSlice): RawJson | null {
  if (levels > 0 || end - start > USAGE_FIELD_BYTES_MAX) return null;
  const text = textOf(bytes, start, end);
  return isScore(JSON.parse(text)) ? text : null;
}

function* cutBatch(bytes: Uint8Array, start: number): TimeSliced<CutBody> {
  const values = new Map<string, unknown>();
  let places = null as readonly JsonSlice[] | null;
  function* readList(at: number): TimeSliced<number> {
    const found: JsonSlice[] = [];
    const end = yield* walkParts(bytes, at, (event) => {
      if (found.push(event) > EVENTS_PER_BATCH_MAX) throw new TooManyEvents();
    });
    places = found;
    return end;
  }
  const end = yield* walkParts(bytes, start, (part) => {
    const name = memberName(bytes, part);
    if (name !== EVENTS) return noteUnknown(values, name);
    places = null;
    // No list: the kind of value is enough to refuse it.
    const kind = bytes[part.start] === LETTER_N ? null : {};
    values.set(EVENTS, kind);
  }, (key, at) => {
    const isList = bytes[at] === OPEN_LIST && memberName(bytes, key) === EVENTS;
    return isList ? readList(at) : null;
  });
  checkEnd(bytes, end);
  const body = { text: "{}", value: Object.fromEntries(values), leftOut: NONE_LEFT_OUT };
  if (places === null) return body;
  const events: CutEvent[] = [];
  for (const place of places) {
    const { start, end, levels } = place;
    // An event is a level itself.
    const fits = end - start <= EVENT_BYTES_MAX && levels <= JSON_DEPTH_MAX;
    events.push(
      fits
        ? { text: textOf(bytes, start, end), isTruncated: false }
        : yield* cutEvent(bytes, start),
    );
    yield null;
  }
  return { ...body, events };
}

function checkEnd(bytes: Uint8Array, end: number): void {
  const behind = spaceEnd(bytes, end);
  if (behind < bytes.length) throw new BadJson(behind);
}

/** What is read in place of an object or a list; null for any other value. */
function standInOf(bytes: Uint8Array, start: number): RawJson | null {
  const first = bytes[start];
  if (first === OPEN_MAP) return "{}" as RawJson;
  if (first !== OPEN_LIST) return null;
  // Only a list that is empty as sent may be read as an empty object (R1).
  return bytes[spaceEnd(bytes, start + 1)] === CLOSE_LIST ? EMPTY_LIST : "[0]" as RawJson;
}

/** Whether an object or a list is neither parsed nor read. What becomes of an output is decided later. */
function isLeftOut(name: string, { start, end, levels }: JsonSlice): boolean {
  if (name === "output") return false;
  if (PAYLOADS.has(name)) return end - start > READ_BYTES_MAX;
  return end - start > PARSED_BYTES_MAX || levels > JSON_DEPTH_MAX;
}

/** Keeps the names of some unknown fields, to be told. */
function noteUnknown(values: Map<string, unknown>, name: string): void {
  if (values.size < UNKNOWN_NAMES_MAX) values.set(name, null);
}
