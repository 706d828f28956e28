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
  endOfValue,
  exceedsBytes,
  nestsDeeperThan,
  type RawJson,
  rawOf,
  utf8Bytes,
  walkMembers,
  walkObject,
  writeObject,
} from "../core/raw_json.ts";
import type { Losses } from "../core/losses.ts";
import { cutText } from "../core/text.ts";
import type { Body } from "../core/body.ts";
import { EVENT_FIELDS } from "./event.ts";
import { isEmptyArray, rawMember } from "./mend.ts";

/** Members of a payload that totals, prices and scores need, kept when the others are cut. */
const KEPT_NAMES = byLength([...USAGE_FIELDS, "name", "value"]);

/** Names of counts, and of the objects that have them. */
const COUNT_NAMES = byLength(COUNT_FIELDS);

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

const DATA = "data";

const BACKSLASH = 92;

/** Event that is small enough to be parsed. */
export interface CutEvent {
  /** Text of the event. */
  readonly text: RawJson;
  /** True if its `data` is truncated. */
  readonly isTruncated: boolean;
}

/** Returns the output as sent; an output that is too large or too deep is truncated (R7). */
export function outputOf(body: Body, losses: Losses): RawJson | undefined {
  const value = body.value.output ?? null;
  if (value === null) return undefined;
  if (isEmptyArray(value)) return "{}" as RawJson;
  const raw = rawMember(body.text, "output") as RawJson;
  const isTooDeep = body.mayBeDeep === true && nestsDeeperThan(raw, JSON_DEPTH_MAX);
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
 * large or too deep is truncated.
 *
 * @param event its valid JSON text
 */
export function cutEvent(event: string): CutEvent {
  if (event[0] !== "{") return { text: "[0]" as RawJson, isTruncated: false };
  const fields = new Map<string, RawJson>();
  let data = null as RawJson | null;
  let kept: Members = new Map();
  walkObject(event, 0, (name, start) => {
    if (name === DATA) {
      const members = new Map<string, RawJson>();
      const end = endOfMembers(event, start, KEPT_NAMES, members);
      [data, kept] = [event.slice(start, end) as RawJson, members];
      return end;
    }
    const end = endOfValue(event, start);
    if (EVENT_FIELDS.has(name)) {
      const text = event.slice(start, end) as RawJson;
      fields.set(name, isKeepable(text) ? text : "[0]" as RawJson);
    } else if (fields.size < UNKNOWN_NAMES_MAX) fields.set(name, "null" as RawJson);
    return end;
  });
  let bytesUsed = 2;
  for (const [name, text] of fields) bytesUsed += name.length + utf8Bytes(text) + 4;
  if (data === null) return { text: writeObject(fields), isTruncated: false };
  const bytesMax = EVENT_BYTES_MAX - bytesUsed - DATA.length - 5;
  const isTruncated = exceedsBytes(data, bytesMax) || nestsDeeperThan(data, JSON_DEPTH_MAX);
  const payload = isTruncated ? cutData(data, kept) : data;
  return { text: writeObject([...fields, [DATA, payload]]), isTruncated };
}

/** Members of an object by name. */
type Members = ReadonlyMap<string, RawJson>;

/** Names by their length, so that keys are compared in place: an event may have 400,000 of them. */
type Names = readonly (readonly string[] | undefined)[];

function byLength(names: Iterable<string>): Names {
  const lists: string[][] = [];
  for (const name of names) (lists[name.length] ??= []).push(name);
  return lists;
}

/** Returns which of the names a key is; undefined for none. */
function nameOf(text: string, keyStart: number, keyEnd: number, names: Names): string | undefined {
  const metric = names[keyEnd - keyStart - 2]?.find((name) => text.startsWith(name, keyStart + 1));
  if (metric !== undefined || !hasEscape(text, keyStart, keyEnd)) return metric;
  const name: string = JSON.parse(text.slice(keyStart, keyEnd));
  return names[name.length]?.find((other) => other === name);
}

function hasEscape(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    if (text.charCodeAt(at) === BACKSLASH) return true;
  }
  return false;
}

/**
 * Finds the end of a value in a text, and if it is an object the named members, the last one if a
 * name is repeated.
 */
function endOfMembers(
  text: string,
  start: number,
  names: Names,
  members: Map<string, RawJson>,
): number {
  if (text[start] !== "{") return endOfValue(text, start);
  return walkMembers(text, start, (keyStart, keyEnd, at) => {
    const end = endOfValue(text, at);
    const name = nameOf(text, keyStart, keyEnd, names);
    if (name !== undefined) members.set(name, text.slice(at, end) as RawJson);
    return end;
  });
}

function isKeepable(text: string): boolean {
  return !exceedsBytes(text, USAGE_FIELD_BYTES_MAX) && !nestsDeeperThan(text, MEMBER_DEPTH_MAX);
}

/**
 * Truncates a payload and keeps its usage members next to the preview, where pricing and repricing
 * read them.
 */
function cutData(data: RawJson, kept: Members): RawJson {
  const members = new Map<string, RawJson>();
  let bytesLeft = MEMBERS_BYTES_MAX;
  for (const [name, member] of kept) {
    const text = keptText(member, name, bytesLeft);
    if (text === null) continue;
    members.set(name, text);
    bytesLeft -= utf8Bytes(text);
  }
  const { length } = new TextEncoder().encode(data);
  return truncatedForm(length, data.slice(0, 2 * PREVIEW_CHARS_MAX), members);
}

/** Returns the text of a member to keep; null to keep nothing. */
function keptText(member: RawJson, name: string, bytesLeft: number): RawJson | null {
  if (isKeepable(member) && !exceedsBytes(member, bytesLeft)) return member;
  // A failure counts, however long its reason is.
  if (name === "error") return "true" as RawJson;
  if (!COUNT_FIELDS.has(name) || member[0] !== "{") return null;
  const counts = cutCounts(member, COUNT_LEVELS_MAX);
  return exceedsBytes(counts, bytesLeft) ? null : counts;
}

/** Returns only the counts of an object that is too large or too deep to keep. */
function cutCounts(object: RawJson, levelsMax: number): RawJson {
  const counts = new Map<string, RawJson>();
  const members = new Map<string, RawJson>();
  endOfMembers(object, 0, COUNT_NAMES, members);
  for (const [name, member] of members) {
    const isObject = member[0] === "{";
    if (!isObject && member[0] !== "[" && !exceedsBytes(member, COUNT_BYTES_MAX)) {
      counts.set(name, member);
    } else if (isObject && levelsMax > 1) {
      counts.set(name, cutCounts(member, levelsMax - 1));
    } else counts.set(name, "[]" as RawJson); // Its presence decides how the other counts are read.
  }
  return writeObject(counts);
}
