/**
 * Checks the body of an ingest call: fast path, mending, schema.
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

/** What parsing depends on besides the body. */
export interface ParseContext {
  /** Metadata labels the plan keeps. */
  readonly metadataKeysMax: number;
  /** Whether the caller is an SDK whose own status words are understood (decisions, section 4). */
  readonly sdkWords: boolean;
  /** The header `traceparent`, unchecked. */
  readonly traceparent?: string | null;
}

/** How the body of one call is read. */
export interface Form<T> {
  /**
   * Accepts what is plainly right, and returns null for the rest. It holds no rule of its own: a property
   * test proves that what it accepts is what the schema makes of it, in an eighth of the time.
   */
  readonly fast: (sent: JsonFields) => T | null;
  /** Mends what is not structure, before the schema judges. */
  readonly mend: Mend;
  /** Decides what the fast path left open, and words the refusal. */
  readonly schema: Schema<T>;
  /** Names of the fields that the call knows. */
  readonly fields: ReadonlySet<string>;
}

/** Makes the form of a call. */
export function formOf<T>(fast: Form<T>["fast"], mend: Mend, schema: Schema<T>): Form<T> {
  return { fast, mend, schema, fields: fieldsOf(schema) };
}

/** Checks a body: what the fast path does not accept is mended and judged by the schema. */
export function readForm<T>(form: Form<T>, body: Body, losses: Losses): Parsed<T> {
  const { fast, mend, schema, fields } = form;
  losses.ignoreUnknown(body.value, fields);
  const leftOut = [...body.leftOut ?? []].filter(([name]) => fields.has(name));
  const plain = leftOut.length === 0 ? fast(body.value) : null;
  if (plain !== null) return { ok: true, value: plain };
  const known = Object.fromEntries([...fields].map((name) => [name, body.value[name]]));
  mend(known, body.text, losses);
  // What mending removed is reported already.
  for (const [name, lost] of leftOut) if (known[name] !== undefined) losses.remove(name, lost);
  return check(schema, known);
}

/** Reads the trace of a request; a header that cannot be read is dropped (R9). */
export function traceOf(
  { traceparent }: ParseContext,
  losses: Losses,
): TraceParent | undefined {
  const trace = parseTraceparent(traceparent);
  if (trace === undefined && (traceparent ?? null) !== null) losses.remove("traceparent");
  return trace;
}

/** Reads the labels that the plan keeps. */
export function metadataOf(
  body: Body,
  sent: unknown,
  context: ParseContext,
  losses: Losses,
): Metadata | undefined {
  if (sent === undefined) return undefined;
  const raw = rawMember(body.text, "metadata") as RawJson;
  const { kept, dropped } = keepMetadata(raw, context.metadataKeysMax);
  losses.drop("metadata", dropped);
  return kept;
}

/** Returns the output as sent; one that is too large or too deep is truncated (R7). */
export function outputOf(body: Body, losses: Losses): RawJson | undefined {
  const sent = body.value.output ?? null;
  if (sent === null) return undefined;
  if (isEmptyArray(sent)) return "{}" as RawJson;
  const raw = rawMember(body.text, "output") as RawJson;
  if (!isTooLarge(body, raw)) return raw;
  losses.cut("output");
  return truncated(raw);
}

/** Whether an output is too large or too deep. Only a body that was cut can be too deep. */
function isTooLarge({ leftOut }: Body, output: RawJson): boolean {
  return exceedsBytes(output, OUTPUT_BYTES_MAX) ||
    leftOut !== undefined && nestsDeeperThan(output, JSON_DEPTH_MAX);
}

/** Replaces the one status word an SDK is known to send for another (decisions, section 4). */
export function withStatus(body: Body, context: ParseContext, word: string, meant: string): Body {
  const isReplaced = context.sdkWords && body.value.status === word;
  return isReplaced ? { ...body, value: { ...body.value, status: meant } } : body;
}
