/**
 * Bodies of configured objects: kinds that a schema declares, and the fields that bodies share.
 *
 * @module
 */
import { z } from "zod";
import type { JsonFields } from "../core/body.ts";
import { refuse } from "../core/errors.ts";
import { charCount, isObject } from "../core/raw_json.ts";
import { optional } from "../core/fields.ts";
import { check } from "../core/validate.ts";
import { CONFIG_SLUG, type ObjectFields, type ObjectKind } from "./objects.ts";

/** Maximum names of one list of a `match`. */
export const MATCH_NAMES_MAX = 20;

/** Maximum characters of all names of a `match`. */
export const MATCH_CHARS_MAX = 4_096;

/** Returns whether a text is a slug of an object. */
export function isConfigSlug(text: string | null): text is string {
  return text !== null && CONFIG_SLUG.test(text);
}

/**
 * Schema of an integer in a range.
 *
 * @internal
 */
export function whole({ min, max }: { readonly min: number; readonly max: number }) {
  const expected = `an integer from ${min} to ${max}`;
  return z.int(expected).min(min, expected).max(max, expected);
}

/**
 * Schema of an optional field that has a value when it is absent.
 *
 * @internal
 */
export function withDefault<T extends z.ZodType, const Value>(schema: T, value: Value) {
  return optional(schema).transform((sent): z.output<T> | Value => sent ?? value);
}

/**
 * Returns the schema of a value that is sent, without what makes it optional or transforms it.
 *
 * @internal
 */
export function sentSchema(field: z.ZodType): z.ZodType {
  if (field instanceof z.ZodPipe) return sentSchema(field.in as z.ZodType);
  const isWrapped = field instanceof z.ZodOptional || field instanceof z.ZodNullable;
  return isWrapped ? sentSchema(field.unwrap() as z.ZodType) : field;
}

/**
 * Schema of true or false.
 *
 * @internal
 */
export function flag(whenAbsent: boolean) {
  return withDefault(z.boolean("true or false"), whenAbsent);
}

/**
 * Schema of the version that a change replaces.
 *
 * @internal
 */
export const versionField = withDefault(whole({ min: 0, max: Number.MAX_SAFE_INTEGER }), null)
  .describe("The current version, 0 if none is stored; any when absent.");

/**
 * Values of fields.
 *
 * @internal
 */
export type FieldValues<Fields extends z.ZodRawShape> = z.output<z.ZodObject<Fields>>;

/**
 * Declares a kind whose settings are the fields that were sent.
 *
 * @param of the kind; `verify` refuses settings that do not fit together
 * @internal
 */
export function kindAsSent<Fields extends z.ZodRawShape, Settings = FieldValues<Fields>>(
  { fields, verify, ...of }:
    & Omit<ObjectKind<Settings>, "schema" | "parse" | "fieldsOf">
    & Partial<Pick<ObjectKind<Settings>, "fieldsOf">>
    & {
      readonly fields: Fields;
      readonly verify?: (settings: FieldValues<Fields>, nowMs: number) => void;
    },
): ObjectKind<Settings> {
  const schema = z.object({ ...fields, version: versionField });
  return {
    fieldsOf: (settings) => ({ ...settings as ObjectFields }),
    ...of,
    schema,
    parse(body, nowMs) {
      const { version, ...settings } = sentOf(check<JsonFields>(schema, body));
      verify?.(settings as FieldValues<Fields>, nowMs);
      return { settings: settings as Settings, version: version as number | null };
    },
  };
}

/** Returns the fields of an object that were sent, also of objects in it. */
function sentOf(fields: JsonFields): JsonFields {
  const sent = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    sent.map(([name, value]) => [name, isObject(value) ? sentOf(value) : value]),
  );
}

/**
 * Schema of a list of different slugs.
 *
 * @internal
 */
export function slugs(max: number, what: string) {
  const expected = `a list of at most ${max} slugs of ${what}`;
  const slug = z.string(expected).regex(CONFIG_SLUG, expected);
  return distinct(z.array(slug, expected).max(max, expected));
}

/**
 * Schema of a list of `words`, at least one, in their order. The document stores a word under `id`.
 *
 * @internal
 */
export function someOf<const Word extends string | number>(
  words: readonly [Word, ...Word[]],
  id?: string,
) {
  const expected = `a list of ${words.map((word) => JSON.stringify(word)).join(", ")}, ` +
    "at least one of them";
  const word = z.literal([...words], expected);
  return z.array(id === undefined ? word : word.meta({ id }), expected).min(1, expected)
    .transform((sent) => words.filter((word) => (sent as unknown[]).includes(word)));
}

/**
 * Schema of one list of a `match`; empty when absent.
 *
 * @internal
 */
export function matchNames(name: z.ZodType<string, unknown>) {
  const expected = `a list of at most ${MATCH_NAMES_MAX} names`;
  const names = distinct(z.array(name, expected).max(MATCH_NAMES_MAX, expected));
  return withDefault(names, [] as readonly string[]);
}

/**
 * Returns whether all names of a `match` together are short enough to be stored.
 *
 * @internal
 */
export function isShort(match: Readonly<Record<string, readonly string[]>>): boolean {
  const names = Object.values(match).flat();
  return names.reduce((total, name) => total + charCount(name), 0) <= MATCH_CHARS_MAX;
}

/** Completes "must be …" for a `match` that is too long. */
export const SHORT = `names of at most ${MATCH_CHARS_MAX} characters together`;

/**
 * Refuses agents and features whose names are too long together.
 *
 * @param where prefix of the fields' names in messages
 * @internal
 */
export function refuseLongNames(
  { agents, features }: Readonly<Record<"agents" | "features", readonly string[]>>,
  where: string,
): void {
  if (isShort({ agents, features })) return;
  const message = `Fields "${where}agents" and "${where}features" must be ${SHORT}`;
  refuse("invalid_field", message, "features");
}

/** Drops repeated items. */
function distinct<Item>(list: z.ZodType<readonly Item[], unknown>) {
  return list.transform((items): readonly Item[] => [...new Set(items)]);
}
