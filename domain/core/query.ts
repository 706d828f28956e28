/**
 * Reads query strings.
 *
 * @module
 */
import { type Problem, refuse } from "./errors.ts";
import { ADMIN_PER_PAGE } from "./limits.ts";
import { oneOfText, printable, show } from "./text.ts";
import { parseInstant } from "./time.ts";

/** Maximum characters of an unknown parameter's name quoted in an error message. */
export const FIELD_CHARS_MAX = 64;

/**
 * Parses a query string. The first of repeated names wins; an empty value means absent.
 *
 * @param query the query string without the question mark
 * @param keepsEmpty returns whether the empty value of a name is kept
 */
export function parseQuery(
  query: string,
  keepsEmpty: (name: string) => boolean = () => false,
): Map<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of parsePairs(query, keepsEmpty)) {
    if (!values.has(name)) values.set(name, value);
  }
  return values;
}

/** Parses a query string to pairs, in their order. */
function parsePairs(query: string, keepsEmpty: (name: string) => boolean = () => false): Pairs {
  const pairs: [string, string][] = [];
  for (const pair of query.split("&")) {
    const [rawName = "", ...rest] = pair.split("=");
    const name = decodeQueryPart(rawName);
    const value = decodeQueryPart(rest.join("="));
    if (name === null || value === null) {
      const field = printable((name ?? rawName).slice(0, FIELD_CHARS_MAX));
      return refuse("invalid_field", `Parameter "${field}" is not percent-encoded UTF-8`, field);
    }
    if (value !== "" || keepsEmpty(name)) pairs.push([name, value]);
  }
  return pairs;
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

/** Query parameters as names and values. */
type Pairs = readonly (readonly [name: string, value: string])[];

/** Bounds and default of an integer parameter. */
export interface IntegerBounds {
  /** Value of an absent parameter. */
  readonly default: number;
  /** Minimum value; 1 when absent. */
  readonly min?: number;
  /** Maximum value, below 10,000. */
  readonly max: number;
}

/** Length and start of a page. */
export interface PageBounds<Place> {
  /** Maximum number of entries. */
  readonly limit: number;
  /** End of the previous page; null for the first page. */
  readonly after: Place | null;
}

/** Refuses the value of a parameter. */
export function refuseParameter(name: string, message: string): never {
  return refuse("invalid_field", message, name);
}

/** Typed parameters of a query. An invalid value is refused. */
export class Query {
  readonly #pairs: Pairs;

  /** Parses a query without its question mark. */
  constructor(text: string) {
    this.#pairs = parsePairs(text);
  }

  /** Reads a text, the first of a repeated name; undefined if it is absent. */
  text(name: string): string | undefined {
    return this.texts(name)[0];
  }

  /** Reads all texts of a repeated name. */
  texts(name: string): readonly string[] {
    return this.#pairs.filter((pair) => pair[0] === name).map(([, value]) => value);
  }

  /** Reads an integer. */
  integer(name: string, { default: absent, min = 1, max }: IntegerBounds): number {
    const text = this.text(name) ?? String(absent);
    const value = /^\d{1,4}$/.test(text) ? Number(text) : -1;
    if (value >= min && value <= max) return value;
    return refuseParameter(name, `"${name}" must be an integer from ${min} to ${max}`);
  }

  /** Reads one of `words`; undefined if it is absent. */
  choice<Word extends string>(
    name: string,
    words: readonly Word[],
    text: string | undefined = this.text(name),
  ): Word | undefined {
    const word = words.find((choice) => choice === text);
    if (text === undefined || word !== undefined) return word;
    const message = `Parameter "${name}" must be ${oneOfText(words)}: got ${show(text)}`;
    return refuseParameter(name, message);
  }

  /**
   * Reads a text that passes a test; null if it is absent.
   *
   * @param expected completes "must be …"
   */
  valid(name: string, isValid: (text: string) => boolean, expected: string): string | null {
    const text = this.text(name) ?? null;
    if (text === null || isValid(text)) return text;
    return refuseParameter(name, `"${name}" must be ${expected}`);
  }

  /** Reads an instant as unix milliseconds; undefined if it is absent. */
  instant(name: string): number | undefined {
    const text = this.text(name);
    const ms = text === undefined ? undefined : parseInstant(text);
    if (ms !== null) return ms;
    const message = `"${name}" must be an RFC 3339 instant such as 2026-01-31T12:00:00.000Z`;
    return refuseParameter(name, message);
  }

  /**
   * Reads a cursor; null if it is absent.
   *
   * @param placeOf decodes the cursor; returns null for an invalid one
   * @param condition ends the message of the refusal
   */
  place<Place>(
    name: string,
    placeOf: (cursor: string) => Place | null,
    condition = "",
  ): Place | null {
    const cursor = this.text(name);
    const place = cursor === undefined ? null : placeOf(cursor);
    if (cursor === undefined || place !== null) return place;
    const message = `"${name}" must be the "${name}" of the previous page${condition}`;
    return refuseParameter(name, message);
  }

  /** Reads `limit` and `cursor`. */
  page<Place>(
    placeOf: (cursor: string) => Place | null,
    perPage: IntegerBounds = ADMIN_PER_PAGE,
  ): PageBounds<Place> {
    return { limit: this.integer("limit", perPage), after: this.place("cursor", placeOf) };
  }

  /** Reads the time from `from` to `to`; all time when absent. */
  range(): { readonly from: number; readonly to: number } {
    const from = this.instant("from") ?? 0;
    const to = this.instant("to") ?? Infinity;
    return to < from ? refuseParameter("to", '"to" must not be before "from"') : { from, to };
  }
}

// Names: reads reject unknown parameters and parameters without a value (R11, R20), because ignoring a
// filter would return everything.

/**
 * Returns the refusal of the first invalid parameter, or null if all are valid.
 *
 * @param query the query string without the question mark
 * @param known names of the parameters that the read accepts
 */
export function queryProblem(query: string, known: readonly string[]): Problem | null {
  if (query === "") return null;
  for (const pair of query.split("&")) {
    // Two adjacent separators name no parameter.
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decodeQueryPart(equals < 0 ? pair : pair.slice(0, equals));
    // The query parser reports invalid encoding.
    if (name === null) return null;
    // Ping clients may send `key` with other calls too, where it is neither credential nor filter.
    if (name === "key") continue;
    if (!known.includes(name)) return unknownName("parameter", name, known);
    if (equals < 0 || equals === pair.length - 1) return emptyParameter(name);
  }
  return null;
}

/** Returns the problem of a name that is not a known one; `where` is the path to it. */
export function unknownName(
  kind: "parameter" | "field",
  name: string,
  known: readonly string[],
  where = "",
): Problem {
  const field = printable(name.slice(0, FIELD_CHARS_MAX));
  const nearest = nearestName(name, known);
  const hint = nearest === null ? "" : ` Did you mean "${nearest}"?`;
  const list = known.length === 0 ? "This call takes none" : `Known: ${known.join(", ")}`;
  const message = `Unknown ${kind} "${where}${field}".${hint} ${list}`;
  return { code: "invalid_field", message, field };
}

function emptyParameter(name: string): Problem {
  const message = `Parameter "${name}" has no value: add one or leave the parameter out`;
  return { code: "invalid_field", message, field: name };
}

/** Words that people use for a field whose name is not similar. */
const SYNONYMS = new Map([["plan", "tier"]]);

/** Returns the known name most similar to `name`; null if none is similar or `name` is too long. */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length > FIELD_CHARS_MAX) return null;
  const wanted = name.toLowerCase();
  const synonym = SYNONYMS.get(wanted);
  if (synonym !== undefined && known.includes(synonym)) return synonym;
  let nearest: string | null = null;
  let best = Infinity;
  for (const candidate of known) {
    // A word of the name is close to it, however long the others are: "exit" of "exit_code".
    const edits = candidate.split("_").includes(wanted) ? 1 : editsBetween(wanted, candidate);
    // At most half of the longer name may differ; beyond that it is another word.
    if (edits >= best || 2 * edits > Math.max(wanted.length, candidate.length)) continue;
    nearest = candidate;
    best = edits;
  }
  return nearest;
}

/** Returns the Levenshtein distance between two texts. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
