/**
 * Reads query strings.
 *
 * @module
 */
import { type Parsed, refuse } from "./errors.ts";
import { oneOfText, printable, show } from "./text.ts";

/** Maximum characters of an unknown parameter's name quoted in an error message. */
export const FIELD_CHARS_MAX = 64;

/**
 * Parses a query string. The first of repeated names wins; an empty value means absent.
 *
 * @param query the query string without the question mark
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

/** Decodes a name or value of a query; returns null for invalid percent-encoding. */
export function decodeQueryPart(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}

/** Query parameters by name. */
export type Parameters = ReadonlyMap<string, string>;

/** Bounds and default of an integer parameter. */
export interface IntegerBounds {
  /** Value of an absent parameter. */
  readonly default: number;
  /** Minimum value; 1 when absent. */
  readonly min?: number;
  /** Maximum value, below 10,000. */
  readonly max: number;
}

/** Reads an integer parameter. */
export function parseInteger(
  parameters: Parameters,
  name: string,
  { default: absent, min = 1, max }: IntegerBounds,
): Parsed<number> {
  const text = parameters.get(name) ?? String(absent);
  const value = /^\d{1,4}$/.test(text) ? Number(text) : -1;
  if (value >= min && value <= max) return { ok: true, value };
  return refuse("invalid_field", `"${name}" must be an integer from ${min} to ${max}`, name);
}

/** Reads a parameter that must be one of `words`. */
export function parseChoice<Word extends string>(
  parameters: Parameters,
  name: string,
  words: readonly Word[],
): Parsed<Word | undefined> {
  const text = parameters.get(name);
  const word = words.find((choice) => choice === text);
  if (text === undefined || word !== undefined) return { ok: true, value: word };
  return refuseParameter(name, oneOfText(words), text);
}

/** Refuses the value of a parameter. */
export function refuseParameter<T>(name: string, expected: string, value: string): Parsed<T> {
  const message = `Parameter "${name}" must be ${expected}: got ${show(value)}`;
  return refuse("invalid_field", message, name);
}

/**
 * Reads the cursor parameter of a page; null for the first page.
 *
 * @param placeOf decodes a cursor; returns null for an invalid one
 */
export function parsePlace<Place>(
  parameters: Parameters,
  name: string,
  placeOf: (cursor: string) => Place | null,
): Parsed<Place | null> {
  const cursor = parameters.get(name);
  const value = cursor === undefined ? null : placeOf(cursor);
  if (cursor === undefined || value !== null) return { ok: true, value };
  return refuse("invalid_field", `"${name}" must be the "${name}" of the previous page`, name);
}
