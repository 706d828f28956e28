/**
 * Reads spans from OTLP in protobuf. Fields and attributes that no rule reads are skipped without being
 * decoded.
 *
 * @module
 */
import { PbfReader } from "pbf";
import type { Steps } from "../../domain/core/steps.ts";
import type { KeyUse } from "../../domain/otlp/keys.ts";
import { SpanMessages } from "../../domain/otlp/messages.ts";
import {
  ATTRIBUTE_CHARS_MAX,
  ATTRIBUTE_DEPTH_MAX,
  type Attributes,
  type AttributeValue,
  type ResourceSpans,
  type ScopeSpans,
  type SentSpan,
  SPAN_ATTRIBUTES_MAX,
} from "../../domain/otlp/span.ts";

/** Error of a body that is no message of the protocol. */
export class MalformedBody extends Error {}

/** Maximum spans of a request; exporters send 512. */
export const SPANS_MAX = 10_000;

/** Maximum fields of one span or resource: about 30,000 attributes, which are read in one step. */
export const FIELDS_MAX = 100_000;

/** A body with too many spans or fields: the rest of it is not read. The message says what to do. */
export class TooLarge extends Error {}

/** Message for a request with too many spans. */
export const TOO_MANY_SPANS: string = `The request has more than ${SPANS_MAX} spans: send fewer`;

const TOO_MANY_FIELDS =
  `A span or resource has more than ${FIELDS_MAX} fields: send fewer attributes`;

/** Types of values on the wire. */
const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;

/** Bytes of a text that are decoded: the most that the kept characters can take. */
const TEXT_BYTES_MAX = 4 * ATTRIBUTE_CHARS_MAX;

const textDecoder = new TextDecoder();

/**
 * Reads the spans of an export request, a few in each step.
 *
 * @param useOf returns the use of the attribute with a key
 * @throws {MalformedBody} if the bytes are no such message
 */
export function* readProtobuf(
  bytes: Uint8Array,
  useOf: (key: string) => KeyUse,
): Steps<readonly ResourceSpans[]> {
  const reader = new SpanReader(bytes, useOf);
  try {
    const { pbf, places, messages } = reader;
    const resources: ResourceSpans[] = [];
    while (pbf.pos < bytes.length) {
      reader.field(readRequest, resources, bytes.length);
      if (reader.isStepOver()) yield;
    }
    for (const { start, end, into } of places) {
      pbf.pos = start;
      const span = reader.fields(readSpan, newSpan(), end);
      messages.moveTo(span.attributes);
      into.push(span);
      if (reader.isStepOver()) yield;
    }
    return resources;
  } catch (error) {
    // The library throws errors of no class of its own; a TypeError would be a defect.
    if (error instanceof TypeError || error instanceof TooLarge) throw error;
    throw new MalformedBody("The body is no ExportTraceServiceRequest");
  }
}

/** A key of attributes. */
interface Key {
  readonly text: string;
  readonly use: KeyUse;
}

/** Slots of {@link Repeated}, a power of two, and the bytes of the longest value in them. */
const SLOTS = 64, REPEATED_BYTES_MAX = 64;

/**
 * Decoded values that the spans of a body repeat, such as keys, models and ids: to compare their bytes is
 * faster than to decode them.
 */
class Repeated<Value> {
  readonly #decode: (bytes: Uint8Array) => Value;
  readonly #slots: { readonly bytes: Uint8Array; readonly value: Value }[] = [];

  constructor(decode: (bytes: Uint8Array) => Value) {
    this.#decode = decode;
  }

  /** Returns the value of the bytes from `start` to `end`. */
  at(buffer: Uint8Array, start: number, end: number): Value {
    const length = end - start;
    if (length > REPEATED_BYTES_MAX) return this.#decode(buffer.subarray(start, end));
    const middle = buffer[start + (length >> 1)] ?? 0;
    const slot = (length + 7 * middle + 31 * (buffer[end - 1] ?? 0)) % SLOTS;
    const known = this.#slots[slot];
    if (known !== undefined && isSame(known.bytes, buffer, start, length)) return known.value;
    const bytes = buffer.subarray(start, end);
    const value = this.#decode(bytes);
    this.#slots[slot] = { bytes, value };
    return value;
  }
}

/** A span in the body, and the spans that it is added to. */
interface SpanPlace {
  readonly start: number;
  readonly end: number;
  readonly into: SentSpan[];
}

/** Fields that are read in one step: about a millisecond. */
const FIELDS_PER_STEP = 4_096;

/** Reads a field of a message; one that it leaves is skipped. */
type ReadField<Into> = (field: number, into: Into, reader: SpanReader) => void;

/** Reads messages one field after the other; the library reads their values. */
class SpanReader {
  readonly pbf: PbfReader;
  /** Spans that are not read yet. */
  readonly places: SpanPlace[] = [];
  /** Messages of the span that is being read. */
  readonly messages = new SpanMessages();
  /** Fields read of the current message, and of those before it in this step. */
  #count = 0;
  #countOfStep = 0;
  readonly #keys: Repeated<Key>;
  readonly #texts = new Repeated(decoded);
  readonly #ids = new Repeated((bytes) => bytes.length > 16 ? "" : bytes.toHex());

  constructor(bytes: Uint8Array, useOf: (key: string) => KeyUse) {
    this.pbf = new PbfReader(bytes);
    this.#keys = new Repeated((key) => {
      const text = decoded(key);
      return { text, use: useOf(text) };
    });
  }

  /** Reads the fields up to `end`. */
  fields<Into>(read: ReadField<Into>, into: Into, end: number): Into {
    while (this.pbf.pos < end) this.field(read, into, end);
    return into;
  }

  /** Reads a field, which ends at `end` at the latest. */
  field<Into>(read: ReadField<Into>, into: Into, end: number): void {
    const { pbf } = this;
    if (++this.#count > FIELDS_MAX) throw new TooLarge(TOO_MANY_FIELDS);
    const field = pbf.nextField(end);
    if (field === 0) throw new MalformedBody();
    const valueAt = pbf.pos;
    read(field, into, this);
    if (pbf.pos === valueAt) pbf.skip(pbf.type);
    if (pbf.pos > end) throw new MalformedBody();
  }

  /** Ends a message, and returns whether others have a turn now. */
  isStepOver(): boolean {
    this.#countOfStep += this.#count;
    this.#count = 0;
    if (this.#countOfStep < FIELDS_PER_STEP) return false;
    this.#countOfStep = 0;
    return true;
  }

  message<Into>(read: ReadField<Into>, into: Into): Into {
    return this.fields(read, into, this.end());
  }

  /** Reads the length of bytes and returns their end. */
  end(): number {
    this.expect(BYTES);
    return this.pbf.readVarint() + this.pbf.pos;
  }

  key(): Key {
    return this.#value(this.#keys);
  }

  text(): string {
    return this.#value(this.#texts);
  }

  /** Reads an id as hex digits; empty for one that is too long. */
  id(): string {
    return this.#value(this.#ids);
  }

  #value<Value>(repeated: Repeated<Value>): Value {
    const end = this.end();
    const start = this.pbf.pos;
    this.pbf.pos = end;
    return repeated.at(this.pbf.buf, start, end);
  }

  varint(): number {
    this.expect(VARINT);
    return this.pbf.readVarint(true);
  }

  fixed64(): number {
    this.expect(FIXED64);
    return this.pbf.readFixed64();
  }

  fixed32(): number {
    this.expect(FIXED32);
    return this.pbf.readFixed32();
  }

  double(): number {
    this.expect(FIXED64);
    return this.pbf.readDouble();
  }

  /**
   * Reads an attribute into those of its span, resource or exception.
   *
   * @param messages messages of the span; null where none are read
   */
  attribute(into: Map<string, AttributeValue>, messages: SpanMessages | null = null): void {
    this.message(readAttribute, { into, messages, key: null });
  }

  /** Reads a value; null for none, for bytes, and below the maximum depth. */
  value(depth: number): AttributeValue | null {
    return this.message<DraftValue>(readValue, { depth, value: null }).value;
  }

  expect(type: number): void {
    if (this.pbf.type !== type) throw new MalformedBody();
  }
}

const readRequest: ReadField<ResourceSpans[]> = (field, resources, reader) => {
  if (field !== 1) return;
  resources.push(reader.message(readResourceSpans, { resource: new Map(), scopes: [] }));
};

interface DraftResource {
  resource: Attributes;
  readonly scopes: ScopeSpans[];
}

const readResourceSpans: ReadField<DraftResource> = (field, resource, reader) => {
  if (field === 1) {
    resource.resource = reader.message((inner, attributes) => {
      if (inner === 1) reader.attribute(attributes);
    }, new Map<string, AttributeValue>());
  } else if (field === 2) {
    resource.scopes.push(reader.message(readScopeSpans, { scope: "", spans: [] }));
  }
};

interface DraftScope {
  scope: string;
  readonly spans: SentSpan[];
}

const readScopeSpans: ReadField<DraftScope> = (field, scope, reader) => {
  if (field === 1) {
    reader.message((inner) => {
      if (inner === 1) scope.scope = reader.text();
    }, null);
  }
  if (field !== 2) return;
  const { places, pbf } = reader;
  if (places.length === SPANS_MAX) throw new TooLarge(TOO_MANY_SPANS);
  const end = reader.end();
  places.push({ start: pbf.pos, end, into: scope.spans });
  pbf.pos = end;
};

type DraftSpan = { -readonly [Name in keyof SentSpan]: SentSpan[Name] } & {
  readonly attributes: Map<string, AttributeValue>;
};

/** Creates a span with no field sent. */
function newSpan(): DraftSpan {
  return {
    traceId: "",
    spanId: "",
    parentId: "",
    name: "",
    kind: 0,
    startNs: 0,
    endNs: 0,
    flags: 0,
    attributes: new Map(),
    statusCode: 0,
    statusMessage: "",
    exception: null,
  };
}

const readSpan: ReadField<DraftSpan> = (field, span, reader) => {
  if (field === 1) span.traceId = reader.id();
  else if (field === 2) span.spanId = reader.id();
  else if (field === 4) span.parentId = reader.id();
  else if (field === 5) span.name = reader.text();
  else if (field === 6) span.kind = reader.varint();
  else if (field === 7) span.startNs = reader.fixed64();
  else if (field === 8) span.endNs = reader.fixed64();
  else if (field === 9) reader.attribute(span.attributes, reader.messages);
  else if (field === 11) span.exception ??= readException(reader);
  else if (field === 15) reader.message(readStatus, span);
  else if (field === 16) span.flags = reader.fixed32();
};

const readStatus: ReadField<DraftSpan> = (field, span, reader) => {
  if (field === 2) span.statusMessage = reader.text();
  else if (field === 3) span.statusCode = reader.varint();
};

/** Reads an event of a span; null if it is no exception. */
function readException(reader: SpanReader): Attributes | null {
  const event = { name: "", attributes: new Map<string, AttributeValue>() };
  const { name, attributes } = reader.message((field, into) => {
    if (field === 2) into.name = reader.text();
    else if (field === 3) reader.attribute(into.attributes);
  }, event);
  return name === "exception" ? attributes : null;
}

/** Attributes, and the key of the one that is being read. */
interface DraftAttribute {
  readonly into: Map<string, AttributeValue>;
  readonly messages: SpanMessages | null;
  key: Key | null;
}

/** Reads a key, and its value if a rule reads it. */
const readAttribute: ReadField<DraftAttribute> = (field, attribute, reader) => {
  const { into, messages, key } = attribute;
  if (field === 1) attribute.key = reader.key();
  if (field !== 2 || key === null || key.use === false) return;
  if (key.use !== true) return messages?.add(key.use, key.text, reader.value(0));
  if (into.size >= SPAN_ATTRIBUTES_MAX) return;
  const value = reader.value(0);
  if (value !== null) into.set(key.text, value);
};

/** A value that is being read. */
interface DraftValue {
  readonly depth: number;
  value: AttributeValue | null;
}

const readValue: ReadField<DraftValue> = (field, into, reader) => {
  if (field === 1) into.value = reader.text();
  else if (field === 2) into.value = reader.varint() !== 0;
  else if (field === 3) into.value = reader.varint();
  else if (field === 4) into.value = reader.double();
  else if (into.depth >= ATTRIBUTE_DEPTH_MAX) return;
  else if (field === 5) into.value = reader.message(readList, newList<AttributeValue>(into)).items;
  else if (field === 6) {
    const { items } = reader.message(readMap, newList<readonly [string, AttributeValue]>(into));
    into.value = Object.fromEntries(items);
  }
};

/** Items of a list or a map whose values are one level deeper. */
interface DraftList<Item> {
  readonly depth: number;
  readonly items: Item[];
}

function newList<Item>({ depth }: DraftValue): DraftList<Item> {
  return { depth: depth + 1, items: [] };
}

const readList: ReadField<DraftList<AttributeValue>> = (field, { depth, items }, reader) => {
  if (field !== 1) return;
  const value = reader.value(depth);
  if (value !== null && items.length < SPAN_ATTRIBUTES_MAX) items.push(value);
};

const readMap: ReadField<DraftList<readonly [string, AttributeValue]>> = (field, map, reader) => {
  if (field !== 1) return;
  const { depth, items } = map;
  const { key, value } = reader.message((inner, entry) => {
    if (inner === 1) entry.key = reader.text();
    else if (inner === 2) entry.value = reader.value(depth);
  }, { key: "", value: null as AttributeValue | null });
  if (value !== null && items.length < SPAN_ATTRIBUTES_MAX) items.push([key, value]);
};

function decoded(bytes: Uint8Array): string {
  if (bytes.length <= ATTRIBUTE_CHARS_MAX) return textDecoder.decode(bytes);
  return cutContent(textDecoder.decode(bytes.subarray(0, TEXT_BYTES_MAX)));
}

/** Compares from the end, because keys of one convention begin alike. */
function isSame(bytes: Uint8Array, buffer: Uint8Array, start: number, length: number): boolean {
  if (bytes.length !== length) return false;
  for (let i = length - 1; i >= 0; i--) if (bytes[i] !== buffer[start + i]) return false;
  return true;
}

/** Cuts a text to the kept characters. */
export function cutContent(text: string): string {
  return text.length <= ATTRIBUTE_CHARS_MAX
    ? text
    : `${text.slice(0, ATTRIBUTE_CHARS_MAX - 1).toWellFormed()}…`;
}
