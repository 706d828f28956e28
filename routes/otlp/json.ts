/**
 * Reads spans from OTLP in JSON: lowerCamelCase keys, ids in hex, 64-bit numbers as texts or numbers.
 *
 * @module
 */
import type { Steps } from "../../domain/core/steps.ts";
import { isObject } from "../../domain/core/raw_json.ts";
import type { KeyUse } from "../../domain/otlp/keys.ts";
import { SpanMessages } from "../../domain/otlp/messages.ts";
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
 * @param useOf returns the use of the attribute with a key
 * @throws {MalformedBody} if the text is no JSON object
 */
export function* readJson(
  text: string,
  useOf: (key: string) => KeyUse,
): Steps<readonly ResourceSpans[]> {
  const body = parse(text);
  if (!isObject(body)) throw new MalformedBody("The body is no JSON object");
  yield;
  const reader = new AttributeReader(useOf);
  const resources: ResourceSpans[] = [];
  let count = 0;
  for (const { resource, scopeSpans } of objectsIn(body.resourceSpans)) {
    const scopes: ScopeSpans[] = [];
    for (const { scope, spans } of objectsIn(scopeSpans)) {
      const read: SentSpan[] = [];
      for (const span of objectsIn(spans)) {
        read.push(spanOf(span, reader));
        if (++count % SPANS_PER_STEP === 0) yield;
      }
      scopes.push({ scope: isObject(scope) ? textOf(scope.name) : "", spans: read });
    }
    const attributes = isObject(resource) ? resource.attributes : [];
    resources.push({ resource: reader.read(attributes), scopes });
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

function spanOf(sent: JsonFields, reader: AttributeReader): SentSpan {
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
    attributes: reader.read(sent.attributes),
    statusCode: numberOf(status.code),
    statusMessage: textOf(status.message),
    exception: exception === undefined ? null : reader.read(exception.attributes),
  };
}

/** Keys whose use is kept. */
const USES_MAX = 256;

/** Reads attributes. The spans of a body repeat their keys. */
class AttributeReader {
  readonly #useOf: (key: string) => KeyUse;
  readonly #uses = new Map<string, KeyUse>();
  readonly #messages = new SpanMessages();

  constructor(useOf: (key: string) => KeyUse) {
    this.#useOf = useOf;
  }

  /** Reads the attributes of a span, a resource or an exception. */
  read(sent: unknown): Attributes {
    const attributes = new Map<string, AttributeValue>();
    for (const { key, value } of objectsIn(sent)) {
      if (typeof key !== "string") continue;
      const use = this.#use(key);
      if (typeof use === "string") this.#messages.add(use, key, valueOf(value, 0));
      if (use !== true || attributes.size >= SPAN_ATTRIBUTES_MAX) continue;
      const read = valueOf(value, 0);
      if (read !== null) attributes.set(key, read);
    }
    this.#messages.moveTo(attributes);
    return attributes;
  }

  #use(key: string): KeyUse {
    const known = this.#uses.get(key);
    if (known !== undefined) return known;
    const use = this.#useOf(key);
    if (this.#uses.size < USES_MAX) this.#uses.set(key, use);
    return use;
  }
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
