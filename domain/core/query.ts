/**
 * Reads query strings.
 *
 * @module
 */
import { type Parsed, refuse } from "./errors.ts";
import { printable, show } from "./text.ts";

/** Characters of an unknown parameter's name that a message repeats. */
export const FIELD_CHARS_MAX = 64;

/**
 * Reads a query string, the first of repeated names winning. An empty value means absent.
 *
 * @param query without the question mark
 */
export function parseQuery(query: string): Parsed<Map<string, string>> {
  const values = new Map<string, string>();
  for (const pair of query.split("&")) {
    const [rawName = "", ...rest] = pair.split("=");
    const name = decodeQueryPart(rawName);
    const value = decodeQueryPart(rest.join("="));
    if (name === null || value === null) {
      const field = printable((name ?? rawName).slice(0, FIELD_CHARS_MAX));
      return refuse("invalid_field", `Parameter "${field}" is not percent-encoded UTF-8`, field);
    }
    if (value !== "" && !values.has(name)) values.set(name, value);
  }
  return { ok: true, value: values };
}

/** Decodes a name or a value of a query, or answers null. */
export function decodeQueryPart(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}

/** Refuses a word that is none of those there are. */
export function refuseChoice<T>(name: string, words: readonly string[], sent: string): Parsed<T> {
  const known = words.map((word) => `"${word}"`).join(", ");
  const message = `Parameter "${name}" must be one of ${known}: got ${show(sent)}`;
  return refuse("invalid_field", message, name);
}

/** Bounds of an integer parameter. */
export interface IntegerBounds {
  /** Value of an absent parameter. */
  readonly default: number;
  /** Least value, 1 by default. */
  readonly min?: number;
  /** Greatest value. */
  readonly max: number;
}

/** Reads an integer parameter, written with at most so many digits. */
export function integerOf(
  parameters: ReadonlyMap<string, string>,
  name: string,
  { default: absent, min = 1, max }: IntegerBounds,
  digitsMax = 4,
): Parsed<number> {
  const digits = parameters.get(name) ?? String(absent);
  const value = /^\d+$/.test(digits) && digits.length <= digitsMax ? Number(digits) : -1;
  if (value >= min && value <= max) return { ok: true, value };
  return refuse("invalid_field", `"${name}" must be an integer from ${min} to ${max}`, name);
}

/**
 * Reads a cursor parameter; null when it is absent.
 *
 * @param positionOf reads the position of a cursor; null when it is not one of this list
 */
export function cursorOf<Position>(
  parameters: ReadonlyMap<string, string>,
  name: string,
  positionOf: (cursor: string) => Position | null,
): Parsed<Position | null> {
  const cursor = parameters.get(name);
  if (cursor === undefined) return { ok: true, value: null };
  const position = positionOf(cursor);
  if (position !== null) return { ok: true, value: position };
  return refuse("invalid_field", `"${name}" must be the "${name}" of the page before`, name);
}
