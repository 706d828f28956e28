/**
 * Truncates payloads that are too large or too deep (R7).
 *
 * @module
 */
import {
  EVENT_BYTES_MAX,
  JSON_DEPTH_MAX,
  OUTPUT_BYTES_MAX,
  PREVIEW_CHARS_MAX,
  USAGE_FIELD_BYTES_MAX,
} from "../core/limits.ts";
import { COUNT_FIELDS, USAGE_FIELDS } from "../pricing/usage_fields.ts";
import {
  exceedsBytes,
  nestsDeeperThan,
  type RawJson,
  rawOf,
  utf8Bytes,
  writeObject,
} from "../core/raw_json.ts";
import { type JsonSlice, type Key, walkParts } from "../core/json_bytes.ts";
import type { Losses } from "../core/losses.ts";
import { cutText } from "../core/text.ts";
import type { TimeSliced } from "../core/time_slices.ts";
import type { Body, CutEvent } from "../core/body.ts";
import { EVENT_FIELDS } from "./event.ts";
import { isEmptyArray, rawMember } from "./mend.ts";

/** Members of a payload that totals, prices and scores need, kept when the others are cut. */
const KEPT_NAMES: ReadonlySet<string> = new Set([...USAGE_FIELDS, "name", "value"]);

/** Maximum levels of objects around a count, such as `usage` and `prompt_tokens_details`. */
const COUNT_LEVELS_MAX = 2;

/** Maximum bytes of a count, which may be quoted. */
const COUNT_BYTES_MAX = 256;

/** Maximum nesting of a kept member: usage nests two or three levels. */
const MEMBER_DEPTH_MAX = 16;

/** Maximum bytes of all kept members of one payload. */
const MEMBERS_BYTES_MAX = 4 * USAGE_FIELD_BYTES_MAX;

/** Maximum unknown fields of one object whose names are reported. */
export const UNKNOWN_NAMES_MAX = 32;

/** Maximum bytes of a member name; no supported name is longer, however it is escaped. */
const NAME_BYTES_MAX = 256;

const DATA = "data";

const OPEN_MAP = 123;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes a range of bytes, which must be valid UTF-8. */
export function decodeRange(bytes: Uint8Array, start: number, end: number): RawJson {
  return utf8.decode(bytes.subarray(start, end)) as RawJson;
}

/** Returns the output as sent; an output that is too large or too deep is truncated (R7). */
export function outputOf(body: Body, losses: Losses): RawJson | undefined {
  const value = body.value.output ?? null;
  if (value === null) return undefined;
  if (isEmptyArray(value)) return "{}" as RawJson;
  const raw = rawMember(body.text, "output") as RawJson;
  // Only the output of a cut body can be too deep.
  const isTooDeep = body.leftOut !== undefined && nestsDeeperThan(raw, JSON_DEPTH_MAX);
  if (!isTooDeep && !exceedsBytes(raw, OUTPUT_BYTES_MAX)) return raw;
  losses.cut("output");
  return truncatedForm(utf8Bytes(raw), raw.slice(0, 2 * PREVIEW_CHARS_MAX), []);
}

/** Returns the object stored instead of a value that is too large: its size and a preview. */
function truncatedForm(
  bytes: number,
  beginning: string,
  members: Iterable<readonly [string, string]>,
): RawJson {
  const preview = cutText(beginning, PREVIEW_CHARS_MAX).toWellFormed();
  return writeObject([
    ["truncated", "true"],
    ["bytes", String(bytes)],
    ["preview", rawOf(preview)],
    ...members,
  ]);
}

/**
 * Makes an event small enough to be parsed. Unknown fields are removed, and a payload that is too
 * large or too deep is truncated. A yielded `null` ends a time slice.
 *
 * @param start start of its valid JSON text
 */
export function* cutEvent(bytes: Uint8Array, start: number): TimeSliced<CutEvent> {
  const fields = new Map<string, RawJson>();
  let data = null as JsonSlice | null;
  if (bytes[start] !== OPEN_MAP) return { text: "[0]" as RawJson, isTruncated: false };
  yield* walkParts(bytes, start, (part) => {
    const name = memberName(bytes, part);
    if (name === DATA) data = part;
    else if (EVENT_FIELDS.has(name)) {
      fields.set(
        name,
        isKeepable(part) ? decodeRange(bytes, part.start, part.end) : "[0]" as RawJson,
      );
    } else if (fields.size < UNKNOWN_NAMES_MAX) fields.set(name, "null" as RawJson);
  });
  let bytesUsed = 2;
  for (const [name, text] of fields) bytesUsed += name.length + utf8Bytes(text) + 4;
  if (data === null) return { text: writeObject(fields), isTruncated: false };
  const bytesMax = EVENT_BYTES_MAX - bytesUsed - DATA.length - 5;
  const isTruncated = data.end - data.start > bytesMax || data.levels > JSON_DEPTH_MAX;
  const payload = isTruncated
    ? yield* cutData(bytes, data)
    : decodeRange(bytes, data.start, data.end);
  return { text: writeObject([...fields, [DATA, payload]]), isTruncated };
}

function isKeepable({ start, end, levels }: JsonSlice): boolean {
  return end - start <= USAGE_FIELD_BYTES_MAX && levels <= MEMBER_DEPTH_MAX;
}

/**
 * Truncates a payload and keeps its usage members next to the preview, where pricing and repricing
 * read them.
 */
function* cutData(bytes: Uint8Array, { start, end }: JsonSlice): TimeSliced<RawJson> {
  const members = new Map<string, RawJson>();
  let bytesLeft = MEMBERS_BYTES_MAX;
  for (const [name, part] of yield* membersOf(bytes, start, KEPT_NAMES)) {
    const text = yield* keptText(bytes, part, name, bytesLeft);
    if (text === null) continue;
    members.set(name, text);
    bytesLeft -= utf8Bytes(text);
  }
  const beginning = decodeRange(bytes, start, Math.min(end, start + 4 * PREVIEW_CHARS_MAX));
  return truncatedForm(end - start, beginning, members);
}

/**
 * Finds the named members of an object, the last one if a name is repeated. Any other value has
 * none.
 */
function* membersOf(
  bytes: Uint8Array,
  start: number,
  names: ReadonlySet<string>,
): TimeSliced<ReadonlyMap<string, JsonSlice>> {
  const slices = new Map<string, JsonSlice>();
  if (bytes[start] !== OPEN_MAP) return slices;
  yield* walkParts(bytes, start, (part) => {
    const name = memberName(bytes, part);
    if (names.has(name)) slices.set(name, part);
  });
  return slices;
}

/** Returns the text of a member to keep; null to keep nothing. */
function* keptText(
  bytes: Uint8Array,
  part: JsonSlice,
  name: string,
  bytesLeft: number,
): TimeSliced<RawJson | null> {
  if (isKeepable(part) && part.end - part.start <= bytesLeft) {
    return decodeRange(bytes, part.start, part.end);
  }
  // A failure counts, however long its reason is.
  if (name === "error") return "true" as RawJson;
  if (!COUNT_FIELDS.has(name) || bytes[part.start] !== OPEN_MAP) return null;
  const counts = yield* cutCounts(bytes, part.start, COUNT_LEVELS_MAX);
  return utf8Bytes(counts) <= bytesLeft ? counts : null;
}

/** Returns only the counts of an object that is too large or too deep to keep. */
function* cutCounts(bytes: Uint8Array, start: number, levelsMax: number): TimeSliced<RawJson> {
  const counts = new Map<string, RawJson>();
  for (const [name, part] of yield* membersOf(bytes, start, COUNT_FIELDS)) {
    if (part.levels === 0 && part.end - part.start <= COUNT_BYTES_MAX) {
      counts.set(name, decodeRange(bytes, part.start, part.end));
    } else if (bytes[part.start] === OPEN_MAP && levelsMax > 1) {
      counts.set(name, yield* cutCounts(bytes, part.start, levelsMax - 1));
    } else counts.set(name, "[]" as RawJson); // Its presence decides how the other counts are read.
  }
  return writeObject(counts);
}

/** Returns the name of a member; a name longer than any supported one is shortened. */
export function memberName(bytes: Uint8Array, { keyStart, keyEnd, hasEscape }: Key): string {
  if (keyEnd - keyStart > NAME_BYTES_MAX) {
    return decodeRange(bytes, keyStart + 1, keyStart + NAME_BYTES_MAX).toWellFormed();
  }
  if (hasEscape) return JSON.parse(decodeRange(bytes, keyStart, keyEnd));
  let name = "";
  for (let at = keyStart + 1; at < keyEnd - 1; at++) {
    const code = bytes[at] as number;
    if (code >= 0x80) return decodeRange(bytes, keyStart + 1, keyEnd - 1);
    // For short names, this takes a fifth of the time of decoding.
    name += String.fromCharCode(code);
  }
  return name;
}
