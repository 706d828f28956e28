/**
 * Field schemas shared by several ingest calls.
 *
 * A schema's `error` text completes the sentence "must be …". `null` in an optional field counts as
 * absent (decision 8). These are internal, because their types are Zod's.
 *
 * @module
 */
import { z } from "zod";
import type { JsonObject } from "../core/body.ts";
import { anyJson, customer, instant, oneOf, optional, text } from "../core/fields.ts";
import { type IdPrefix, judgeId, type RunId } from "../core/ids.ts";
import { LABEL_CHARS_MAX } from "../core/limits.ts";
import { isObject } from "../core/raw_json.ts";
import { isCount, isCustomer, isText } from "../core/rules.ts";
import { parseInstant } from "../core/time.ts";
import { FINISH_STATUSES } from "../runs/run.ts";

const COUNT = `an integer from 0 to ${Number.MAX_SAFE_INTEGER}`;

/**
 * The id of a run, required.
 *
 * @internal
 */
export const runId = id<RunId>("run");

/**
 * A label, or none.
 *
 * @internal
 */
export const label = optional(text(LABEL_CHARS_MAX));

/**
 * A count of tokens or milliseconds, or none.
 *
 * @internal
 */
export const count = optional(
  z.number(COUNT).refine(isCount, COUNT)
    .meta({ type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
);

/**
 * A JSON object.
 *
 * @internal
 */
export const object = z
  .custom<JsonObject>(isObject, "an object").meta({
    id: "JsonObject",
    type: "object",
    description: "Any JSON object.",
    additionalProperties: true,
  });

/**
 * The customer of a run, or none.
 *
 * @internal
 */
export const customerId = optional(customer()).describe("The customer that the run is for.");

/**
 * An instant by the client's clock.
 *
 * @internal
 */
export const clientInstant = instant().describe("Time by the client's clock.");

/**
 * Any output of a run, or none.
 *
 * @internal
 */
export const output = anyJson.optional().transform((value) => value ?? undefined).describe(
  "Any JSON value, stored exactly as sent, except that `[]` becomes `{}`. A value above " +
    "512 KiB or deeper than 64 levels is replaced with `truncated`, `bytes` and `preview`.",
);

/**
 * A status that a finish may have.
 *
 * @internal
 */
export const finishStatus = oneOf("FinishStatus", FINISH_STATUSES);

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

/** Parses an instant on a fast path; null if the schema must decide. */
export function fastInstant(value: unknown): number | null {
  return typeof value === "string" ? parseInstant(value) : null;
}

/** Matches an enum value on a fast path; null if the schema must decide. */
export function fastWord<T extends string>(words: readonly T[], value: unknown): T | null {
  return words.find((word) => word === value) ?? null;
}

/** Returns whether a label is absent or valid without repair. */
export function isAbsentOrLabel(value: unknown): value is string | undefined {
  return value === undefined || isText(value, LABEL_CHARS_MAX);
}

/** Returns whether a customer is absent or valid without repair. */
export function isAbsentOrCustomer(value: unknown): value is string | undefined {
  return value === undefined || isCustomer(value);
}

/** Returns whether an object is absent or valid without repair. */
export function isAbsentOrObject(value: unknown): value is JsonObject | undefined {
  return value === undefined || isObject(value);
}
