/**
 * Field schemas shared by several bodies. An `error` text completes the sentence "must be …"; `meta`
 * states the same rule for JSON Schema, which cannot express a check.
 *
 * They are internal because their types are Zod's; `Schema` is the public contract of a schema.
 *
 * @module
 */
import { z } from "zod";
import { type IdPrefix, judgeId, type RunId } from "./ids.ts";
import { parseInstant } from "./time.ts";
import { AGENT_CHARS_MAX, LABEL_CHARS_MAX } from "./limits.ts";
import { oneOfText } from "./text.ts";
import { isAgent, isCustomer, isName, isText } from "./rules.ts";

const INSTANT = "an RFC 3339 instant such as 2026-01-31T12:00:00.000Z or 2026-01-31T13:00:00+01:00";

/**
 * Schema of an instant's text.
 *
 * @internal
 */
export const instantText = z.string(INSTANT).meta({
  id: "Instant",
  format: "date-time",
  description:
    "An RFC 3339 instant in the years 1970 to 9999, stored in UTC with millisecond precision.",
});

/**
 * Schema of an instant, read as unix milliseconds (decision 12, R19).
 *
 * @internal
 */
export function instant(): z.ZodType<number, unknown> {
  return instantText.transform((value, context) => {
    const ms = parseInstant(value);
    if (ms !== null) return ms;
    context.addIssue({ code: "custom", message: INSTANT });
    return z.NEVER;
  });
}

/**
 * Schema of any JSON value.
 *
 * @internal
 */
export const anyJson = z.unknown()
  .meta({ id: "JsonValue", description: "Any JSON value." });

/**
 * Makes a field optional; `null` counts as absent (decision 8).
 *
 * @internal
 */
export function optional<T extends z.ZodType>(
  schema: T,
): z.ZodType<z.output<T> | undefined, unknown> {
  return schema.nullish().transform((value) => value ?? undefined);
}

/**
 * Schema of any well-formed text.
 *
 * @internal
 */
export function text(charsMax: number): z.ZodType<string, unknown> {
  const expected = `well-formed text of at most ${charsMax} characters`;
  return z.string(expected).refine((value) => isText(value, charsMax), expected)
    .meta({ maxLength: charsMax });
}

/** JSON Schema pattern: excludes the non-empty texts that {@link isPathPart} rejects. */
const PATH_PART = "^(?!\\.\\.?$)";

/** JSON Schema pattern: non-empty text without control characters or surrounding white space. */
const TRIMMED = "(?!\\s)[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f]$";

/** JSON Schema pattern of {@link isName}, without its maximum length. */
export const NAME_PATTERN = `^${TRIMMED}`;

/** JSON Schema pattern of {@link isAgent}, without its maximum length. */
export const SLUG_PATTERN = `${PATH_PART}${TRIMMED}`;

/**
 * Schema of an agent slug.
 *
 * @internal
 */
export function agentSlug(): z.ZodType<string, unknown> {
  const expected = `an agent slug of 1 to ${AGENT_CHARS_MAX} characters, well-formed, ` +
    'without control characters or surrounding white space, and not "." or ".."';
  return z.string(expected).refine(isAgent, expected)
    .meta({ minLength: 1, maxLength: AGENT_CHARS_MAX, pattern: SLUG_PATTERN });
}

/**
 * Schema of the customer that a cost is attributed to.
 *
 * @internal
 */
export function customer(): z.ZodType<string, unknown> {
  const expected = `well-formed text of 1 to ${LABEL_CHARS_MAX} characters, not "." or ".."`;
  return z.string(expected).refine(isCustomer, expected)
    .meta({ minLength: 1, maxLength: LABEL_CHARS_MAX, pattern: PATH_PART });
}

/**
 * Schema of a name that people see and filter by.
 *
 * @internal
 */
export function name(charsMax: number, what: string): z.ZodType<string, unknown> {
  const expected = `${what} of 1 to ${charsMax} characters, ` +
    "well-formed, without control characters or surrounding white space";
  return z.string(expected).refine((value) => isName(value, charsMax), expected)
    .meta({ minLength: 1, maxLength: charsMax, pattern: NAME_PATTERN });
}

/**
 * Schema of one of `words`. The document stores it under a name.
 *
 * @internal
 */
export function oneOf<const T extends string>(
  id: string,
  words: readonly [T, ...T[]],
): z.ZodType<T, unknown> {
  return z.enum(words, { error: oneOfText(words) }).meta({ id });
}

/**
 * Schema of an id. `problemOf` repeats its check to word the problem.
 *
 * @internal
 */
export function id<Id extends string>(prefix: IdPrefix): z.ZodType<Id, unknown> {
  const expected = `an id such as ${prefix}_eu_ followed by 32 lowercase hex digits`;
  return z.custom<Id>((value) => judgeId(prefix, value) === "valid", {
    error: expected,
    params: { prefix },
  }).meta(idMeta(prefix));
}

/** Describes an id as JSON Schema. */
export function idMeta(prefix: IdPrefix): { readonly type: "string"; readonly pattern: string } {
  return { type: "string", pattern: `^${prefix}_(eu|us)_[0-9a-f]{32}$` };
}

/**
 * The id of a run, required.
 *
 * @internal
 */
export const runId = id<RunId>("run");
