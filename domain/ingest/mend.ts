/**
 * Repairs invalid payload fields, so that no payload causes a call to be refused (R1 to R9).
 *
 * The schema then validates the repaired fields, so the structure of a call stays strict. Every
 * field not stored as sent is reported.
 *
 * @module
 */
import type { z } from "zod";
import { LABEL_CHARS_MAX, SCORES_MAX } from "../core/limits.ts";
import {
  afterSpace,
  endOfValue,
  isKey,
  isObject,
  walkMembers,
  walkObject,
} from "../core/raw_json.ts";
import type { Losses } from "../core/losses.ts";
import { isScore, isScoreName } from "../core/rules.ts";
import { cutText, ownText } from "../core/text.ts";

/** The supported fields of a body. */
export type MutableFields = Record<string, unknown>;

/**
 * Repairs the fields of a body in place and reports the losses.
 *
 * @param text the body as sent, which has the exact digits of numbers
 */
export type Mend = (fields: MutableFields, text: string, losses: Losses) => void;

/** Returns whether a value is PHP's empty array, which means an empty object (R1). */
export function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Returns an empty object for PHP's empty array, and any other value unchanged. */
export function orEmptyObject(value: unknown): unknown {
  return isEmptyArray(value) ? {} : value;
}

/** Repairs labels. */
export function mendLabels(
  fields: MutableFields,
  text: string,
  losses: Losses,
  names: readonly string[],
): void {
  for (const field of names) mendText(fields, text, losses, field, LABEL_CHARS_MAX);
}

/**
 * Makes a field a well-formed text of at most `charsMax` characters; numbers and booleans become
 * text as written (R8).
 */
export function mendText(
  fields: MutableFields,
  text: string,
  losses: Losses,
  field: string,
  charsMax: number,
): void {
  const value = fields[field] ?? null;
  if (value === null) return;
  if (typeof value === "object") {
    losses.remove(field);
    fields[field] = undefined;
    return;
  }
  const written = typeof value === "string" ? value : rawMember(text, field);
  const formed = written.toWellFormed();
  const cut = cutText(formed, charsMax);
  if (cut !== formed) losses.cut(field);
  else if (formed !== written) losses.remove(field);
  // A slice would retain the complete body in memory.
  fields[field] = cut === value ? cut : ownText(cut);
}

/**
 * Returns the text of a member of an object, as sent; the last one if repeated, `{}` if absent.
 */
export function rawMember(text: string, name: string): string {
  let raw = "{}";
  walkMembers(text, afterSpace(text, 0), (keyStart, keyEnd, start) => {
    const end = endOfValue(text, start);
    if (isKey(text, keyStart, keyEnd, name)) raw = text.slice(start, end);
    return end;
  });
  return raw;
}

/**
 * Removes optional fields that are present and invalid.
 *
 * @internal
 */
export function removeInvalid(
  fields: MutableFields,
  losses: Losses,
  { shape }: z.ZodObject,
  names: readonly string[],
): void {
  for (const name of names) {
    const value = fields[name] ?? null;
    if (value === null || shape[name]?.safeParse(value).success) continue;
    losses.remove(name);
    fields[name] = undefined;
  }
}

/** Keeps the first valid scores, in the order sent (R6). */
export function mendScores(value: unknown, text: string, losses: Losses): unknown {
  if (value === undefined || value === null || isEmptyArray(value)) return orEmptyObject(value);
  if (!isObject(value)) {
    losses.remove("scores");
    return undefined;
  }
  const names = namesInOrder(text, (name) => isScoreName(name) && isScore(value[name]));
  losses.remove("scores", Object.keys(value).length - names.length);
  return Object.fromEntries(names.map((name) => [name, value[name]]));
}

/**
 * Returns the first valid names of a body's scores, in the order of the text. Parsing would move
 * names that look like integers to the front.
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
