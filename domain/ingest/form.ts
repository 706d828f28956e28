/**
 * Validates the body of an ingest call: schema, or repair and schema.
 *
 * A schema's `error` text completes the sentence "must be …". `null` in an optional field counts as
 * absent (decision 8). Field schemas are internal, because their types are Zod's.
 *
 * @module
 */
import { z } from "zod";
import type { Body, JsonFields, JsonObject } from "../core/body.ts";
import { anyJson, customer, instant, oneOf, optional, text } from "../core/fields.ts";
import { LABEL_CHARS_MAX, WHOLE_BODY_BYTES_MAX } from "../core/limits.ts";
import type { Losses } from "../core/losses.ts";
import { exceedsBytes, isObject, type RawJson } from "../core/raw_json.ts";
import { isCount } from "../core/rules.ts";
import { parseInstant } from "../core/time.ts";
import { parseTraceparent, type TraceParent } from "../core/traceparent.ts";
import { check, fieldsOf, type Schema } from "../core/validate.ts";
import { FINISH_STATUSES, keepMetadata, type Metadata } from "../runs/run.ts";
import { isEmptyArray, type Mend, rawMember } from "./mend.ts";

const COUNT = `an integer from 0 to ${Number.MAX_SAFE_INTEGER}`;

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

/** Parses an instant on a fast path; null if the schema must decide. */
export function fastInstant(value: unknown): number | null {
  return typeof value === "string" ? parseInstant(value) : null;
}

/** Matches an enum value on a fast path; null if the schema must decide. */
export function fastWord<T extends string>(words: readonly T[], value: unknown): T | null {
  return words.find((word) => word === value) ?? null;
}

/** Inputs of parsing other than the body. */
export interface ParseContext {
  /** Maximum metadata labels the plan stores. */
  readonly metadataKeysMax: number;
  /**
   * True if the caller is an SDK whose native status names are accepted (decisions, section 4).
   */
  readonly sdkWords: boolean;
  /** Header `traceparent`, not validated. */
  readonly traceparent?: string | null;
}

/**
 * Creates the reader of a call's bodies. The schema goes first because nearly every body fits it, and
 * repairing takes longer than validating.
 *
 * @param mend repairs the payload fields of a body that does not fit; changes nothing in one that fits
 * @param schema validates bodies as sent and after the repair, and words the refusal
 * @param fast accepts only bodies that fit, with the same result, and returns null for all others
 */
export function readerOf<T>(
  mend: Mend,
  schema: Schema<T>,
  fast: (body: JsonFields) => T | null = () => null,
): (body: Body, losses: Losses) => T {
  const fields = fieldsOf(schema);
  return (body, losses) => {
    losses.ignoreUnknown(body.value, fields);
    const accepted = fast(body.value);
    if (accepted !== null) return accepted;
    const plain = schema.safeParse(body.value);
    if (plain.success) return plain.data;
    const supported = Object.fromEntries([...fields].map((name) => [name, body.value[name]]));
    mend(supported, body.text, losses);
    return check(schema, supported);
  };
}

/** Parses the trace context of a request; an invalid header is dropped (R9). */
export function traceOf({ traceparent }: ParseContext, losses: Losses): TraceParent | undefined {
  const trace = parseTraceparent(traceparent);
  if (trace === undefined && (traceparent ?? null) !== null) losses.remove("traceparent");
  return trace;
}

/** Reads the labels that the plan stores. */
export function metadataOf(
  body: Body,
  value: unknown,
  context: ParseContext,
  losses: Losses,
): Metadata | undefined {
  if (value === undefined) return undefined;
  const raw = rawMember(body.text, "metadata") as RawJson;
  if (!isEmptyArray(body.value.metadata) && exceedsBytes(raw, WHOLE_BODY_BYTES_MAX)) {
    losses.remove("metadata");
    return undefined;
  }
  const { kept, dropped } = keepMetadata(raw, context.metadataKeysMax);
  losses.drop("metadata", dropped);
  return kept;
}

/** Replaces a status name that an SDK sends instead of the contract's (decisions, section 4). */
export function withStatus(body: Body, context: ParseContext, from: string, to: string): Body {
  const isReplaced = context.sdkWords && body.value.status === from;
  return isReplaced ? { ...body, value: { ...body.value, status: to } } : body;
}
