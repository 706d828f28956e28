/**
 * Turns schema issues into refusals that a client can act on (decisions 5 to 8).
 *
 * @module
 */
import { type Parsed, type Problem, refuse } from "./errors.ts";
import { type IdPrefix, judgeId } from "./ids.ts";
import { FIELD_CHARS_MAX, nearestName } from "./query.ts";
import { printable, show } from "./text.ts";
import { z } from "zod";

/**
 * Checks a value against a schema; the first issue becomes the refusal.
 *
 * @param where prefix of the field's name in messages, such as `events[7].`
 */
export function check<T>(
  schema: Schema<T>,
  value: Readonly<Record<string, unknown>>,
  where = "",
): Parsed<T> {
  const result = schema.safeParse(value);
  if (result.success) return { ok: true, value: result.data };
  const [issue] = result.error.issues;
  // A failed parse always has an issue; the fallback only satisfies the type.
  if (issue === undefined) return refuse("invalid_json", "The body does not fit this call");
  return { ok: false, problem: problemOf(issue, value, where) };
}

/** Checks a value as {@link check} does, and refuses fields that the schema lacks (decision 47). */
export function checkClosed<T>(
  schema: Schema<T>,
  value: Readonly<Record<string, unknown>>,
  where = "",
): Parsed<T> {
  const known = [...fieldsOf(schema)];
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return check(schema, value, where);
  const field = printable(unknown.slice(0, FIELD_CHARS_MAX));
  const nearest = nearestName(unknown, known);
  const hint = nearest === null ? "" : ` Did you mean "${nearest}"?`;
  return refuse(
    "invalid_field",
    `Unknown field "${where}${field}".${hint} Known: ${known.join(", ")}`,
    field,
  );
}

function problemOf(issue: Issue, body: unknown, where: string): Problem {
  const field = String(issue.path[0] ?? "");
  const path = `${where}${issue.path.join(".")}`;
  const value = issue.path.reduce<unknown>(
    (part, key) => (part as Record<PropertyKey, unknown>)?.[key],
    body,
  );
  if (issue.path.length === 1 && (value === undefined || value === null)) {
    return missing(field, path, issue.message);
  }
  const prefix = issue.params?.prefix;
  if (prefix !== undefined) {
    const verdict = judgeId(prefix, value);
    if (verdict !== "valid") return idProblem(verdict, prefix, path, value);
  }
  const message = `Field "${path}" must be ${issue.message}: got ${show(value)}`;
  return { code: "invalid_field", message, field };
}

/** Returns the refusal of a required field that is absent. */
export function missing(field: string, path: string, expected: string): Problem {
  const message = `Field "${path}" is required: send ${expected}`;
  return { code: "missing_field", message, field };
}

/** Returns the refusal of an identifier (decision 5); `field` is always `id` (contract 9). */
export function idProblem(
  code: "invalid_id" | "unknown_region",
  prefix: string,
  path: string,
  value: unknown,
): Problem {
  const expected = `${prefix}_(eu|us)_ and 32 lowercase hex digits`;
  const what = code === "invalid_id" ? "match" : "name a known region and match";
  return { code, message: `"${path}" must ${what} ${expected}: got ${show(value)}`, field: "id" };
}

/** Minimal contract of a schema; each one is a Zod schema. */
export interface Schema<T> {
  /** Checks a value, field by field in the order of declaration. */
  safeParse(value: unknown):
    | { readonly success: true; readonly data: T }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } };
}

/** One validation error of a value. */
export interface Issue {
  /** Path to the invalid value, starting with the field. */
  readonly path: readonly PropertyKey[];
  /** Expected value, completing "must be …". */
  readonly message: string;
  /** Required prefix if the value is an identifier. */
  readonly params?: { readonly prefix?: IdPrefix } | undefined;
}

/** Returns the names of all fields in a body's schema. */
export function fieldsOf(schema: Schema<unknown>): ReadonlySet<string> {
  return new Set(Object.keys((schema as unknown as z.ZodObject).shape));
}
