/**
 * Validates JSON as bytes without parsing it, for bodies too large to parse in one piece.
 *
 * Scans run in time slices: each slice stops after a fixed number of bytes and the next one resumes
 * there. A scan needs no stack, only one bit per nesting level.
 *
 * @module
 */
import type { TimeSliced } from "./time_slices.ts";

const TAB = 9, LINE_FEED = 10, RETURN = 13, SPACE = 32;
const QUOTE = 34, PLUS = 43, COMMA = 44, MINUS = 45, POINT = 46, ZERO = 48, NINE = 57, COLON = 58;
const OPEN_LIST = 91, BACKSLASH = 92, CLOSE_LIST = 93, OPEN_MAP = 123, CLOSE_MAP = 125;
const LOWER_E = 101, LOWER_U = 117;

/** Bytes scanned in one slice: about a tenth of a millisecond. */
const SLICE_BYTES = 65_536;

/** Error for bytes that are not valid JSON. */
export class BadJson extends Error {
  /** Creates an error for the byte at index `at`. */
  constructor(at: number) {
    super(`invalid JSON at byte ${at}`);
  }
}

/** States of a scan: the token allowed next. Numbers, because every byte is compared with several. */
const NOTHING = 0,
  VALUE = 1,
  VALUE_OR_END = 2,
  KEY = 3,
  KEY_OR_END = 4,
  AFTER_KEY = 5,
  AFTER_VALUE = 6;

/** Validates single values in time slices; reusable for the next value. */
export class ValueScan {
  /** Index of the next byte to read; the index after the value when done. */
  at = 0;
  /** Nesting depth of the value; 0 for a scalar. */
  levels = 0;
  /** True if a string of the value contains an escape. */
  hasEscape = false;
  readonly #bytes: Uint8Array;
  #next = VALUE;
  #inString = false;
  #depth = 0;
  /** One bit for each open level: 1 for an object, 0 for a list. */
  #isMap = new Uint8Array(8);

  /** Creates a scan; call {@link begin} before reading. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Starts with the value at index `at`. */
  begin(at: number): void {
    this.at = at;
    this.levels = 0;
    this.hasEscape = false;
    this.#next = VALUE;
    this.#inString = false;
    this.#depth = 0;
  }

  /**
   * Reads about one more slice.
   *
   * @returns whether the value is complete
   * @throws {BadJson} when the bytes are not JSON or end early
   */
  readOn(): boolean {
    const bytes = this.#bytes;
    const stop = Math.min(bytes.length, this.at + SLICE_BYTES);
    while (this.at < stop) {
      if (this.#inString) this.#readString(stop);
      else this.#readToken(bytes[this.at] as number);
      if (this.#next === NOTHING && !this.#inString) return true;
    }
    if (stop === bytes.length) throw new BadJson(stop);
    return false;
  }

  #readToken(code: number): void {
    if (isSpace(code)) {
      this.at++;
      return;
    }
    const next = this.#next;
    if (next === AFTER_VALUE) {
      if (code !== COMMA) return this.#close(code);
      this.#next = this.#inMap ? KEY : VALUE;
      this.at++;
    } else if (next === AFTER_KEY) {
      if (code !== COLON) throw new BadJson(this.at);
      this.#next = VALUE;
      this.at++;
    } else if (code === QUOTE) {
      // A colon follows a key, a comma follows a value.
      if (next === KEY || next === KEY_OR_END) this.#next = AFTER_KEY;
      else this.#endValue();
      this.#inString = true;
      this.at++;
    } else if (next === KEY) throw new BadJson(this.at);
    else if (next === KEY_OR_END) this.#close(code);
    else if (code === OPEN_MAP || code === OPEN_LIST) this.#open(code === OPEN_MAP);
    else if (next === VALUE_OR_END && code === CLOSE_LIST) this.#close(code);
    else {
      this.at = endOfWord(this.#bytes, this.at, code);
      this.#endValue();
    }
  }

  #readString(stop: number): void {
    const bytes = this.#bytes;
    let at = this.at;
    while (at < stop) {
      const code = bytes[at++] as number;
      if (code === QUOTE) {
        this.#inString = false;
        break;
      }
      if (code < SPACE) throw new BadJson(at - 1);
      if (code === BACKSLASH) {
        at = endOfEscape(bytes, at);
        this.hasEscape = true;
      }
    }
    this.at = at;
  }

  get #inMap(): boolean {
    const level = this.#depth - 1;
    return ((this.#isMap[level >> 3] as number) >> (level & 7) & 1) === 1;
  }

  #open(isMap: boolean): void {
    const level = this.#depth++;
    if (level >> 3 >= this.#isMap.length) {
      const larger = new Uint8Array(2 * this.#isMap.length);
      larger.set(this.#isMap);
      this.#isMap = larger;
    }
    const bit = 1 << (level & 7);
    const otherBits = (this.#isMap[level >> 3] as number) & ~bit;
    this.#isMap[level >> 3] = isMap ? otherBits | bit : otherBits;
    if (this.#depth > this.levels) this.levels = this.#depth;
    this.#next = isMap ? KEY_OR_END : VALUE_OR_END;
    this.at++;
  }

  #close(code: number): void {
    if (code !== (this.#inMap ? CLOSE_MAP : CLOSE_LIST)) throw new BadJson(this.at);
    this.#depth--;
    this.at++;
    this.#endValue();
  }

  #endValue(): void {
    this.#next = this.#depth === 0 ? NOTHING : AFTER_VALUE;
  }
}

/** Position of a member's key; empty for an element of a list. */
export interface Key {
  /** Index of the opening quote. */
  readonly keyStart: number;
  /** Index after the closing quote. */
  readonly keyEnd: number;
  /** True if the key contains an escape. */
  readonly hasEscape: boolean;
}

/** Positions of the key and value of an object member, or of a list element. */
export interface JsonSlice extends Key {
  /** Index of the first byte of the value. */
  readonly start: number;
  /** Index after the value. */
  readonly end: number;
  /** Nesting depth of the value; 0 for a scalar. */
  readonly levels: number;
}

/** Reads a value and returns the index after it; returns null to have the walk visit it as a slice. */
export type ReadInside = (key: Key, start: number) => TimeSliced<number> | null;

/**
 * Visits and validates the members or elements of the object or list at `at`. Yields `null` after each
 * time slice.
 *
 * @returns the index after the object or list
 * @throws {BadJson} when the bytes are not JSON
 */
export function* walkParts(
  bytes: Uint8Array,
  at: number,
  visit: (part: JsonSlice) => void,
  readInside: ReadInside = () => null,
): TimeSliced<number> {
  const isMap = bytes[at] === OPEN_MAP;
  const close = isMap ? CLOSE_MAP : CLOSE_LIST;
  const scan = new ValueScan(bytes);
  let sliceEnd = at + SLICE_BYTES;
  let next = spaceEnd(bytes, at + 1);
  if (bytes[next] === close) return next + 1;
  for (;;) {
    const key = { keyStart: next, keyEnd: next, hasEscape: false };
    if (isMap) {
      if (bytes[next] !== QUOTE) throw new BadJson(next);
      scan.begin(next);
      while (!scan.readOn()) yield null;
      key.keyEnd = scan.at;
      key.hasEscape = scan.hasEscape;
      const colon = spaceEnd(bytes, scan.at);
      if (bytes[colon] !== COLON) throw new BadJson(colon);
      next = spaceEnd(bytes, colon + 1);
    }
    const inside = readInside(key, next);
    if (inside !== null) next = yield* inside;
    else {
      const start = next;
      scan.begin(start);
      while (!scan.readOn()) yield null;
      next = scan.at;
      visit({ ...key, start, end: next, levels: scan.levels });
    }
    if (next > sliceEnd) {
      yield null;
      sliceEnd = next + SLICE_BYTES;
    }
    next = spaceEnd(bytes, next);
    if (bytes[next] === close) return next + 1;
    if (bytes[next] !== COMMA) throw new BadJson(next);
    next = spaceEnd(bytes, next + 1);
  }
}

/** Returns the first index from `at` on that is not JSON white space. */
export function spaceEnd(bytes: Uint8Array, at: number): number {
  while (at < bytes.length && isSpace(bytes[at] as number)) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code <= SPACE && (code === SPACE || code === LINE_FEED || code === RETURN || code === TAB);
}

/** Returns the index after an escape whose backslash precedes `at`. */
function endOfEscape(bytes: Uint8Array, at: number): number {
  const code = bytes[at];
  if (code === undefined || !ESCAPES.has(code)) throw new BadJson(at);
  if (code !== LOWER_U) return at + 1;
  for (let digit = at + 1; digit <= at + 4; digit++) {
    if (!isHex(bytes[digit])) throw new BadJson(digit);
  }
  return at + 5;
}

/** Characters allowed after a backslash. */
const ESCAPES: ReadonlySet<number> = new Set(Array.from('"\\/bfnrtu', (c) => c.charCodeAt(0)));

function isHex(code = 0): boolean {
  return isDigit(code) || (code | 32) >= 97 && (code | 32) <= 102;
}

function isDigit(code = 0): boolean {
  return code >= ZERO && code <= NINE;
}

const WORDS = ["true", "false", "null"].map((word) => new TextEncoder().encode(word));

/** Returns the index after a number, `true`, `false` or `null`. */
function endOfWord(bytes: Uint8Array, at: number, first: number): number {
  if (first === MINUS || isDigit(first)) return endOfNumber(bytes, at);
  const word = WORDS.find(([letter]) => letter === first);
  if (word?.every((letter, i) => bytes[at + i] === letter) !== true) throw new BadJson(at);
  return at + word.length;
}

function endOfNumber(bytes: Uint8Array, at: number): number {
  if (bytes[at] === MINUS) at++;
  at = bytes[at] === ZERO ? at + 1 : endOfDigits(bytes, at);
  if (bytes[at] === POINT) at = endOfDigits(bytes, at + 1);
  if (((bytes[at] ?? 0) | 32) !== LOWER_E) return at;
  const sign = bytes[at + 1];
  return endOfDigits(bytes, at + (sign === PLUS || sign === MINUS ? 2 : 1));
}

/** Returns the index after at least one digit. */
function endOfDigits(bytes: Uint8Array, at: number): number {
  if (!isDigit(bytes[at])) throw new BadJson(at);
  while (isDigit(bytes[at])) at++;
  return at;
}
