/**
 * Mends payload fields that do not fit their call, so that no payload is a reason to lose one (R1 to R9).
 *
 * What is mended is what the schema then judges: the structure of a call stays strict. Each field whose
 * value is not kept as sent is reported.
 *
 * @module
 */
import { LABEL_CHARS_MAX, SCORES_MAX } from "../core/limits.ts";
import {
  afterSpace,
  charCount,
  endOfValue,
  isKey,
  isObject,
  walkMembers,
  walkObject,
} from "../core/raw_json.ts";
import type { Losses } from "../core/losses.ts";
import { isPathPart, isScore, isScoreName } from "../core/rules.ts";
import { ownText } from "../core/text.ts";

/** The fields of a body that its call knows. */
export type MutableFields = Record<string, unknown>;

/**
 * Mends the fields of a body in place and reports what is lost by it.
 *
 * @param text the body as sent; numbers are kept by it to the last digit
 */
export type Mend = (fields: MutableFields, text: string, losses: Losses) => void;

/** Whether a value is PHP's empty array, which stands for an empty object (R1). */
export function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Returns the object that PHP's empty array stands for; any other value as it is. */
export function orEmptyObject(value: unknown): unknown {
  return isEmptyArray(value) ? {} : value;
}

/** Mends `metadata`. */
export function mendMetadata(fields: MutableFields): void {
  fields.metadata = orEmptyObject(fields.metadata);
}

/**
 * Returns the first characters of a text, at most `charsMax`.
 *
 * @param text well-formed
 */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  // No character takes more than two units.
  const start = text.slice(0, 2 * charsMax);
  if (start.length === text.length && charCount(text) <= charsMax) return text;
  let end = 0;
  for (let chars = 0; chars < charsMax; chars++) {
    end += (start.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

/** Mends `customer_id` and other labels. */
export function mendLabels(
  fields: MutableFields,
  text: string,
  losses: Losses,
  names: readonly string[],
): void {
  for (const field of ["customer_id", ...names]) {
    mendText(fields, text, losses, field, LABEL_CHARS_MAX);
  }
  keepIf(fields, losses, "customer_id", (value) => isPathPart(String(value)));
}

/** Makes a field a well-formed text of so many characters; numbers and booleans are as written (R8). */
export function mendText(
  fields: MutableFields,
  text: string,
  losses: Losses,
  field: string,
  charsMax: number,
): void {
  const sent = fields[field] ?? null;
  if (sent === null) return;
  if (typeof sent === "object") {
    losses.remove(field);
    fields[field] = undefined;
    return;
  }
  const written = typeof sent === "string" ? sent : rawMember(text, field);
  const formed = written.toWellFormed();
  const kept = cutText(formed, charsMax);
  if (kept !== formed) losses.cut(field);
  else if (formed !== written) losses.remove(field);
  // A slice of a body would keep all of it in memory.
  fields[field] = kept === sent ? kept : ownText(kept);
}

/** Returns a member of an object as it was sent, of a repeated one the last; `{}` for none. */
export function rawMember(text: string, name: string): string {
  let raw = "{}";
  walkMembers(text, afterSpace(text, 0), (keyStart, keyEnd, start) => {
    const end = endOfValue(text, start);
    if (isKey(text, keyStart, keyEnd, name)) raw = text.slice(start, end);
    return end;
  });
  return raw;
}

/** Removes a field that is there and not as it must be. */
export function keepIf(
  fields: MutableFields,
  losses: Losses,
  field: string,
  fits: (value: unknown) => boolean,
): void {
  const value = fields[field] ?? null;
  if (value === null || fits(value)) return;
  losses.remove(field);
  fields[field] = undefined;
}

/** Keeps the first scores that fit, in the order they were sent (R6). */
export function mendScores(sent: unknown, text: string, losses: Losses): unknown {
  if (sent === undefined || sent === null || isEmptyArray(sent)) return orEmptyObject(sent);
  if (!isObject(sent)) {
    losses.remove("scores");
    return undefined;
  }
  const kept = namesInOrder(text, (name) => isScoreName(name) && isScore(sent[name]));
  losses.remove("scores", Object.keys(sent).length - kept.length);
  return Object.fromEntries(kept.map((name) => [name, sent[name]]));
}

/**
 * Returns the first names of a body's scores that fit, in the order of the text: parsing moves names that
 * look like integers to the front.
 */
export function namesInOrder(text: string, fits: (name: string) => boolean): string[] {
  const scores = rawMember(text, "scores");
  const names = new Set<string>();
  walkObject(scores, 0, (name, start) => {
    if (names.size < SCORES_MAX && fits(name)) names.add(name);
    return endOfValue(scores, start);
  });
  return [...names];
}
