/**
 * Kinds of fields that several bodies have. An `error` text completes the sentence "must be …"; `meta`
 * tells the same to whoever reads the schema as JSON Schema, which cannot see into a check.
 *
 * They are parts of schemas, internal because their types are Zod's; see `Schema` for what a schema is.
 *
 * @module
 */
import { z } from "zod";
import { parseInstant } from "./time.ts";
import { AGENT_CHARS_MAX, LABEL_CHARS_MAX } from "./limits.ts";
import { oneOfText } from "./text.ts";
import { isAgent, isCustomer, isName, isText } from "./rules.ts";

const INSTANT = "an RFC 3339 instant such as 2026-01-31T12:00:00.000Z or 2026-01-31T13:00:00+01:00";

/**
 * An instant, as unix milliseconds (decision 12, R19).
 *
 * @internal
 */
export function instant(): z.ZodType<number, unknown> {
  return z.string(INSTANT).meta({ format: "date-time" }).transform((sent, context) => {
    const ms = parseInstant(sent);
    if (ms !== null) return ms;
    context.addIssue({ code: "custom", message: INSTANT });
    return z.NEVER;
  });
}

/**
 * Any JSON value.
 *
 * @internal
 */
export function anyJson(): z.ZodType<unknown, unknown> {
  return z.unknown();
}

/**
 * A field that may be absent; `null` is as absent (decision 8).
 *
 * @internal
 */
export function optional<T extends z.ZodType>(
  schema: T,
): z.ZodType<z.output<T> | undefined, unknown> {
  return schema.nullish().transform((value) => value ?? undefined);
}

/**
 * Any well-formed text.
 *
 * @internal
 */
export function text(charsMax: number): z.ZodType<string, unknown> {
  const expected = `well-formed text of at most ${charsMax} characters`;
  return z.string(expected).refine((value) => isText(value, charsMax), expected)
    .meta({ maxLength: charsMax });
}

/** Of JSON Schema: what {@link isPathPart} refuses of a text that is not empty. */
const PATH_PART = "^(?!\\.\\.?$)";

/** Of JSON Schema: a text that is not empty, without control characters and space around it. */
const TRIMMED = "(?!\\s)[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f]$";

/** Of JSON Schema: what {@link isName} takes, but for its length. */
export const NAME_PATTERN = `^${TRIMMED}`;

/** Of JSON Schema: what {@link isAgent} takes, but for its length. */
export const SLUG_PATTERN = `${PATH_PART}${TRIMMED}`;

/**
 * The slug of an agent.
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
 * Whom a cost is attributed to.
 *
 * @internal
 */
export function customer(): z.ZodType<string, unknown> {
  const expected = `well-formed text of 1 to ${LABEL_CHARS_MAX} characters, not "." or ".."`;
  return z.string(expected).refine(isCustomer, expected)
    .meta({ minLength: 1, maxLength: LABEL_CHARS_MAX, pattern: PATH_PART });
}

/**
 * A text that people see and filter by.
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
 * One of some words.
 *
 * @internal
 */
export function oneOf<const T extends string>(
  words: readonly [T, ...T[]],
): z.ZodType<T, unknown> {
  return z.enum(words, { error: oneOfText(words) });
}
