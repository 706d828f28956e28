/**
 * Validates the body of an ingest call: fast path, repair, schema.
 *
 * @module
 */
import { type Body, type JsonFields } from "../core/body.ts";
import type { Parsed } from "../core/errors.ts";
import { JSON_DEPTH_MAX, OUTPUT_BYTES_MAX } from "../core/limits.ts";
import type { Losses } from "../core/losses.ts";
import { exceedsBytes, nestsDeeperThan, type RawJson } from "../core/raw_json.ts";
import { parseTraceparent, type TraceParent } from "../core/traceparent.ts";
import { check, fieldsOf, type Schema } from "../core/validate.ts";
import { keepMetadata, type Metadata } from "../runs/metadata.ts";
import { isEmptyArray, type Mend, rawMember } from "./mend.ts";
import { truncated } from "./truncate.ts";

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

/** Parsing rules for the body of one call. */
export interface Form<T> {
  /**
   * Accepts bodies that are valid without repair, and returns null for all others. It adds no
   * rules: a property test proves that it returns what the schema returns, in an eighth of the
   * time.
   */
  readonly fast: (body: JsonFields) => T | null;
  /** Repairs payload fields before the schema validates. */
  readonly mend: Mend;
  /** Validates bodies the fast path did not accept, and words the refusal. */
  readonly schema: Schema<T>;
  /** Names of the supported fields. */
  readonly fields: ReadonlySet<string>;
}

/** Creates the form of a call. */
export function formOf<T>(fast: Form<T>["fast"], mend: Mend, schema: Schema<T>): Form<T> {
  return { fast, mend, schema, fields: fieldsOf(schema) };
}

/**
 * Validates a body. A body the fast path does not accept is repaired and validated by the schema.
 */
export function readForm<T>(form: Form<T>, body: Body, losses: Losses): Parsed<T> {
  const { fast, mend, schema, fields } = form;
  losses.ignoreUnknown(body.value, fields);
  const leftOut = [...body.leftOut ?? []].filter(([name]) => fields.has(name));
  const plain = leftOut.length === 0 ? fast(body.value) : null;
  if (plain !== null) return { ok: true, value: plain };
  const supported = Object.fromEntries([...fields].map((name) => [name, body.value[name]]));
  mend(supported, body.text, losses);
  // Fields removed by the repair are already reported.
  for (const [name, lost] of leftOut) if (supported[name] !== undefined) losses.remove(name, lost);
  return check(schema, supported);
}

/** Parses the trace context of a request; an invalid header is dropped (R9). */
export function traceOf(
  { traceparent }: ParseContext,
  losses: Losses,
): TraceParent | undefined {
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
  const { kept, dropped } = keepMetadata(raw, context.metadataKeysMax);
  losses.drop("metadata", dropped);
  return kept;
}

/** Returns the output as sent; an output that is too large or too deep is truncated (R7). */
export function outputOf(body: Body, losses: Losses): RawJson | undefined {
  const value = body.value.output ?? null;
  if (value === null) return undefined;
  if (isEmptyArray(value)) return "{}" as RawJson;
  const raw = rawMember(body.text, "output") as RawJson;
  if (!isTooLarge(body, raw)) return raw;
  losses.cut("output");
  return truncated(raw);
}

/**
 * Returns whether an output is too large or too deep. Only the output of a cut body can be too
 * deep.
 */
function isTooLarge({ leftOut }: Body, output: RawJson): boolean {
  return exceedsBytes(output, OUTPUT_BYTES_MAX) ||
    leftOut !== undefined && nestsDeeperThan(output, JSON_DEPTH_MAX);
}

/** Replaces a status name that an SDK sends instead of the contract's (decisions, section 4). */
export function withStatus(body: Body, context: ParseContext, from: string, to: string): Body {
  const isReplaced = context.sdkWords && body.value.status === from;
  return isReplaced ? { ...body, value: { ...body.value, status: to } } : body;
}
