/**
 * Turns schema issues into refusals that a client can act on (decisions 5 to 8).
 *
 * @module
 */
import { type Problem, refuse, Refused } from "./errors.ts";
import { type IdPrefix, judgeId } from "./ids.ts";
import { unknownName } from "./query.ts";
import { isObject } from "./raw_json.ts";
import { show } from "./text.ts";
import { z } from "zod";

/**
 * Checks a value against a schema; the first issue is refused.
 *
 * @param where prefix of the field's name in messages, such as `events[7].`
 */
export function check<T>(
  schema: Schema<T>,
  value: Readonly<Record<string, unknown>>,
  where = "",
): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  // A failed parse always has an issue; the fallback only satisfies the type.
  if (issue === undefined) return refuse("invalid_json", "The body does not fit this call");
  throw new Refused(problemOf(issue, value, where));
}

/**
 * Returns the problem of the first field, at any depth, that a schema lacks; null for none (R25).
 *
 * @param where path to the value, such as `tiers[0].`
 * @internal
 */
export function unknownField(schema: z.ZodType, value: unknown, where = ""): Problem | null {
  const parts = partsOf(schema);
  if (Array.isArray(value)) {
    const list = parts.find((part) => part instanceof z.ZodArray);
    if (list === undefined) return null;
    const item = list.element as z.ZodType;
    const path = where.slice(0, -1);
    return firstOf(value.entries(), ([i, each]) => unknownField(item, each, `${path}[${i}].`));
  }
  const objects = parts.filter((part) => part instanceof z.ZodObject);
  if (!isObject(value) || objects.length === 0) return null;
  // The alternative with the constants that were sent applies. Without one, all fields are known.
  const sent = objects.filter(({ shape }) =>
    Object.entries(shape).every(([name, field]) =>
      !(field instanceof z.ZodLiteral) || field.values.has(value[name] as string)
    )
  );
  const shapes = (sent.length > 0 ? sent : objects).map(({ shape }) => shape);
  const fields: Record<string, z.ZodType> = Object.assign({}, ...shapes);
  return firstOf(
    Object.entries(value),
    ([name, part]) =>
      fields[name] === undefined || !Object.hasOwn(fields, name)
        ? unknownName("field", name, Object.keys(fields), where)
        : unknownField(fields[name], part, `${where}${name}.`),
  );
}

/** Returns the alternatives of a schema, without what makes them optional or transforms them. */
function partsOf(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodUnion) return (schema.options as z.ZodType[]).flatMap(partsOf);
  if (schema instanceof z.ZodPipe) return partsOf(schema.in as z.ZodType);
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapped ? partsOf(schema.unwrap() as z.ZodType) : [schema];
}

function firstOf<T>(items: Iterable<T>, problemOf: (item: T) => Problem | null): Problem | null {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== null) return problem;
  }
  return null;
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
