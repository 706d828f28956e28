/**
 * Reads spans from OTLP in JSON: lowerCamelCase keys, ids in hex, 64-bit numbers as texts or numbers.
 *
 * @module
 */
import type { Steps } from "../../domain/core/steps.ts";
import { isObject } from "../../domain/core/raw_json.ts";
import {
  ATTRIBUTE_DEPTH_MAX,
  type Attributes,
  type AttributeValue,
  type ResourceSpans,
  type ScopeSpans,
  type SentSpan,
  SPAN_ATTRIBUTES_MAX,
} from "../../domain/otlp/span.ts";
import type { JsonFields } from "../../domain/core/body.ts";
import { cutContent, MalformedBody } from "./protobuf.ts";

/** Spans that are read in one step: less than a millisecond. */
const SPANS_PER_STEP = 32;

/**
 * Reads the spans of an export request, a few in each step.
 *
 * @param isRead returns whether the attribute with a key is read
 * @throws {MalformedBody} if the text is no JSON object
 */
export function* readJson(
  text: string,
  isRead: (key: string) => boolean,
): Steps<readonly ResourceSpans[]> {
  const body = parse(text);
  if (!isObject(body)) throw new MalformedBody("The body is no JSON object");
  yield;
  const resources: ResourceSpans[] = [];
  let count = 0;
  for (const { resource, scopeSpans } of objectsIn(body.resourceSpans)) {
    const scopes: ScopeSpans[] = [];
    for (const { scope, spans } of objectsIn(scopeSpans)) {
      const read: SentSpan[] = [];
      for (const span of objectsIn(spans)) {
        read.push(spanOf(span, isRead));
        if (++count % SPANS_PER_STEP === 0) yield;
      }
      scopes.push({ scope: isObject(scope) ? textOf(scope.name) : "", spans: read });
    }
    const attributes = isObject(resource) ? resource.attributes : [];
    resources.push({ resource: attributesOf(attributes, isRead), scopes });
  }
  return resources;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedBody("The body is no JSON");
  }
}

function spanOf(sent: JsonFields, isRead: (key: string) => boolean): SentSpan {
  const status = isObject(sent.status) ? sent.status : {};
  const exception = objectsIn(sent.events).find(({ name }) => name === "exception");
  return {
    traceId: textOf(sent.traceId).toLowerCase(),
    spanId: textOf(sent.spanId).toLowerCase(),
    parentId: textOf(sent.parentSpanId).toLowerCase(),
    name: textOf(sent.name),
    kind: numberOf(sent.kind),
    startNs: numberOf(sent.startTimeUnixNano),
    endNs: numberOf(sent.endTimeUnixNano),
    flags: numberOf(sent.flags),
    attributes: attributesOf(sent.attributes, isRead),
    statusCode: numberOf(status.code),
    statusMessage: textOf(status.message),
    exception: exception === undefined ? null : attributesOf(exception.attributes, isRead),
  };
}

function attributesOf(sent: unknown, isRead: (key: string) => boolean): Attributes {
  const attributes = new Map<string, AttributeValue>();
  for (const { key, value } of objectsIn(sent)) {
    if (typeof key !== "string" || !isRead(key)) continue;
    if (attributes.size >= SPAN_ATTRIBUTES_MAX) break;
    const read = valueOf(value, 0);
    if (read !== null) attributes.set(key, read);
  }
  return attributes;
}

/** Reads a value; null for none, for bytes, and below the maximum depth. */
function valueOf(sent: unknown, depth: number): AttributeValue | null {
  if (!isObject(sent) || depth > ATTRIBUTE_DEPTH_MAX) return null;
  const { stringValue, boolValue, intValue, doubleValue, arrayValue, kvlistValue } = sent;
  if (typeof stringValue === "string") return cutContent(stringValue.toWellFormed());
  if (typeof boolValue === "boolean") return boolValue;
  const number = intValue ?? doubleValue;
  if (typeof number === "string" || typeof number === "number") return numberOf(number);
  if (isObject(arrayValue)) {
    const values = objectsIn(arrayValue.values).slice(0, SPAN_ATTRIBUTES_MAX);
    return values.flatMap((value) => valueOf(value, depth + 1) ?? []);
  }
  if (!isObject(kvlistValue)) return null;
  const members = objectsIn(kvlistValue.values).slice(0, SPAN_ATTRIBUTES_MAX);
  return Object.fromEntries(members.flatMap(({ key, value }) => {
    const read = valueOf(value, depth + 1);
    return read === null ? [] : [[textOf(key), read]];
  }));
}

function objectsIn(value: unknown): readonly JsonFields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed() : "";
}

/** Reads a number, or a 64-bit number as text; 0 for anything else. */
function numberOf(value: unknown): number {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : 0;
}
