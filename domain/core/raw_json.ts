/**
 * Scanners for JSON text: nesting depth and positions of members.
 *
 * Payloads are stored character by character as sent, so that large integers, `1.0` and the order of
 * keys survive. `JSON.parse` loses all three, so these scanners find the slices instead.
 *
 * @module
 */

/** Slice of text that is one valid JSON value, exactly as sent. */
export type RawJson = string & { readonly __brand: "RawJson" };

const SPACE = 32, COMMA = 44;
const QUOTE = 34, BACKSLASH = 92, OPEN_LIST = 91, CLOSE_LIST = 93, OPEN_MAP = 123, CLOSE_MAP = 125;

/** Returns whether objects and arrays nest deeper than `max`; safe on any text, valid JSON or not. */
export function nestsDeeperThan(text: string, max: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i) - 1;
    else if (code === OPEN_MAP || code === OPEN_LIST) {
      if (++depth > max) return true;
    } else if (code === CLOSE_MAP || code === CLOSE_LIST) depth--;
  }
  return false;
}

/**
 * Walks the members of a valid JSON object that starts at `start`.
 *
 * @param visit gets each key and the start of its value, and returns the end of the value
 * @returns the index after the object
 */
export function walkObject(
  text: string,
  start: number,
  visit: (key: string, valueStart: number) => number,
): number {
  return walkMembers(
    text,
    start,
    (keyStart, keyEnd, valueStart) => visit(keyText(text, keyStart, keyEnd), valueStart),
  );
}

/**
 * Walks like {@link walkObject} but passes only the position of each key. {@link isKey} compares the
 * key in place, which avoids allocating a text per key in batches of events.
 */
export function walkMembers(
  text: string,
  start: number,
  visit: (keyStart: number, keyEnd: number, valueStart: number) => number,
): number {
  let at = afterSpace(text, start + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = endOfString(text, at);
    const valueStart = afterSpace(text, afterSpace(text, keyEnd) + 1);
    at = afterSpace(text, visit(at, keyEnd, valueStart));
    if (text.charCodeAt(at) === COMMA) at = afterSpace(text, at + 1);
  }
  return at + 1;
}

/** Returns whether the key from `start` to `end`, including quotes, equals `name`. */
export function isKey(text: string, start: number, end: number, name: string): boolean {
  const units = end - start - 2;
  // An escape is longer than its character, so a key of the same length as the name has no escape.
  if (units === name.length) return text.startsWith(name, start + 1) && !name.includes("\\");
  return units > name.length && keyText(text, start, end) === name;
}

/** Walks the elements of a valid JSON array, like {@link walkObject}. */
export function walkArray(
  text: string,
  start: number,
  visit: (valueStart: number) => number,
): number {
  let at = afterSpace(text, start + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_LIST) {
    at = afterSpace(text, visit(at));
    if (text.charCodeAt(at) === COMMA) at = afterSpace(text, at + 1);
  }
  return at + 1;
}

/**
 * Returns the members of a valid JSON object, each value as its slice of the text.
 *
 * A repeated key keeps its first position and its last value, as in `JSON.parse`. Unlike in
 * `JSON.parse`, keys that look like integers keep their position.
 */
export function rawMembers(object: string): Map<string, RawJson> {
  const members = new Map<string, RawJson>();
  walkObject(object, afterSpace(object, 0), (key, start) => {
    const end = endOfValue(object, start);
    members.set(key, object.slice(start, end) as RawJson);
    return end;
  });
  return members;
}

/** Returns the elements of a valid JSON array, each as its slice of the text. */
export function rawElements(array: string): RawJson[] {
  const elements: RawJson[] = [];
  walkArray(array, afterSpace(array, 0), (start) => {
    const end = endOfValue(array, start);
    elements.push(array.slice(start, end) as RawJson);
    return end;
  });
  return elements;
}

/** Writes an object from members that are already JSON text; omits `undefined` members. */
export function writeObject(members: Iterable<readonly [string, string | undefined]>): RawJson {
  const parts: string[] = [];
  for (const [key, value] of members) {
    if (value !== undefined) parts.push(`${JSON.stringify(key)}:${value}`);
  }
  return `{${parts.join(",")}}` as RawJson;
}

/** Serializes a trusted value, for example for {@link writeObject}. */
export function rawOf(value: unknown): RawJson {
  return JSON.stringify(value) as RawJson;
}

/** Returns whether a parsed JSON value is an object, not an array and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns whether a text is longer than `max` bytes of UTF-8; encodes only if necessary. */
export function exceedsBytes(text: string, max: number): boolean {
  if (text.length > max) return true;
  // No UTF-16 unit takes more than 3 bytes.
  return text.length * 3 > max && new TextEncoder().encode(text).length > max;
}

/** Returns the length of a text in bytes of UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // Each half of a surrogate pair accounts for two of its four bytes.
    if (code >= 0x80) bytes += code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 1 : 2;
  }
  return bytes;
}

/** Counts the characters (code points) of a text. */
export function charCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function keyText(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes("\\") ? JSON.parse(text.slice(start, end)) : inner;
}

/** Returns the index after the closing quote of the string that starts at `start`. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote < 0) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote + 1;
  // One search for each of many escaped quotes would take longer.
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at + 1;
  }
  return text.length;
}

/** Returns the index after the valid JSON value that starts at `start`. */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first !== OPEN_MAP && first !== OPEN_LIST) return endOfPlain(text, start);
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i) - 1;
    else if (code === OPEN_MAP || code === OPEN_LIST) depth++;
    else if ((code === CLOSE_MAP || code === CLOSE_LIST) && --depth === 0) return i + 1;
  }
  return text.length;
}

/** Returns the index after a number, `true`, `false` or `null`, which end at a space or punctuation. */
function endOfPlain(text: string, start: number): number {
  let i = start;
  while (i < text.length && !endsPlain(text.charCodeAt(i))) i++;
  return i;
}

function endsPlain(code: number): boolean {
  return code <= SPACE || code === COMMA || code === CLOSE_LIST || code === CLOSE_MAP;
}

/** Returns the first index from `start` on that is not white space. */
export function afterSpace(text: string, start: number): number {
  let i = start;
  while (i < text.length && text.charCodeAt(i) <= SPACE) i++;
  return i;
}

/** Number that `JSON.stringify` writes with exactly these digits. */
export interface ExactNumber {
  /** The digits. */
  readonly rawJSON: string;
}

/** `JSON.rawJSON`, which is missing from the runtime's types. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (digits: string) => ExactNumber };

/** Creates a number from decimal digits. */
export function exactNumber(digits: string): ExactNumber {
  return rawJSON(digits);
}

/** Creates a number from a count. */
export function exactCount(count: bigint): ExactNumber | number {
  return count <= Number.MAX_SAFE_INTEGER ? Number(count) : exactNumber(String(count));
}
