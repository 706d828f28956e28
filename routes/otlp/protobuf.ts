/**
 * Reads spans from OTLP in protobuf. Fields and attributes that no rule reads are skipped without being
 * decoded.
 *
 * @module
 */
import { PbfReader } from "pbf";
import type { Steps } from "../../domain/core/steps.ts";
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

/** A body with more than {@link SPANS_MAX} spans: the rest of it is not read. */
export class TooManySpans extends Error {}

/** Types of values on the wire. */
const VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5;

/** Bytes of a text that are decoded: the most that the kept characters can take. */
const TEXT_BYTES_MAX = 4 * ATTRIBUTE_CHARS_MAX;

const textDecoder = new TextDecoder();

/**
 * Reads the spans of an export request, a few in each step.
 *
 * @param isRead returns whether the attribute with a key is read
 * @throws {MalformedBody} if the bytes are no such message
 */
export function* readProtobuf(
  bytes: Uint8Array,
  isRead: (key: string) => boolean,
): Steps<readonly ResourceSpans[]> {
  const reader = new SpanReader(bytes, isRead);
  try {
    const resources = reader.request();
    yield* reader.spans();
    return resources;
  } catch (error) {
    // The library throws errors of no class of its own; a TypeError would be a defect.
    if (error instanceof TypeError || error instanceof TooManySpans) throw error;
    throw new MalformedBody("The body is no ExportTraceServiceRequest");
  }
}

/** A key of attributes. */
interface Key {
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly isRead: boolean;
}

/** Keys of a body that are kept: a few instrumentations have no more. */
const KEYS_MAX = 64;

/** A span in the body, and the spans that it is added to. */
interface SpanPlace {
  readonly start: number;
  readonly end: number;
  readonly into: SentSpan[];
}

/** Spans that are read in one step: less than a millisecond. */
const SPANS_PER_STEP = 32;

/** Reads messages one field after the other, each within the bounds of its parent. */
class SpanReader {
  readonly #pbf: PbfReader;
  readonly #isRead: (key: string) => boolean;
  /** End of the message that is being read. */
  #end: number;
  /** Spans that are not read yet. */
  readonly #places: SpanPlace[] = [];
  /** Keys of attributes that were read. */
  readonly #keys: Key[] = [];

  constructor(bytes: Uint8Array, isRead: (key: string) => boolean) {
    this.#pbf = new PbfReader(bytes);
    this.#isRead = isRead;
    this.#end = bytes.length;
  }

  request(): readonly ResourceSpans[] {
    const resources: ResourceSpans[] = [];
    this.#fields((field) => {
      if (field === 1) resources.push(this.#message(() => this.#resourceSpans()));
    });
    return resources;
  }

  #resourceSpans(): ResourceSpans {
    let resource: Attributes = new Map();
    const scopes: ScopeSpans[] = [];
    this.#fields((field) => {
      if (field === 1) resource = this.#message(() => this.#attributes(1));
      else if (field === 2) scopes.push(this.#message(() => this.#scopeSpans()));
    });
    return { resource, scopes };
  }

  #scopeSpans(): ScopeSpans {
    let scope = "";
    const spans: SentSpan[] = [];
    this.#fields((field) => {
      if (field === 1) {
        this.#message(() =>
          this.#fields((inner) => {
            if (inner === 1) scope = this.#text();
          })
        );
      } else if (field === 2) {
        if (this.#places.length === SPANS_MAX) throw new TooManySpans();
        const end = this.#bytesEnd();
        this.#places.push({ start: this.#pbf.pos, end, into: spans });
        this.#pbf.pos = end;
      }
    });
    return { scope, spans };
  }

  /** Reads the spans whose places are known. */
  *spans(): Steps<void> {
    for (const [i, { start, end, into }] of this.#places.entries()) {
      this.#pbf.pos = start;
      this.#end = end;
      into.push(this.#span());
      if (i % SPANS_PER_STEP === SPANS_PER_STEP - 1) yield;
    }
  }

  #span(): SentSpan {
    const span = { ...NO_SPAN, attributes: new Map<string, AttributeValue>() };
    this.#fields((field) => {
      switch (field) {
        case 1:
          return void (span.traceId = this.#hex());
        case 2:
          return void (span.spanId = this.#hex());
        case 4:
          return void (span.parentId = this.#hex());
        case 5:
          return void (span.name = this.#text());
        case 6:
          return void (span.kind = this.#varint());
        case 7:
          return void (span.startNs = this.#fixed64());
        case 8:
          return void (span.endNs = this.#fixed64());
        case 9:
          return this.#message(() => this.#attribute(span.attributes));
        case 11:
          return void (span.exception ??= this.#message(() => this.#exception()));
        case 15:
          return this.#message(() => this.#status(span));
        case 16:
          return void (span.flags = this.#fixed32());
      }
    });
    return span;
  }

  #status(span: { statusMessage: string; statusCode: number }): void {
    this.#fields((field) => {
      if (field === 2) span.statusMessage = this.#text();
      else if (field === 3) span.statusCode = this.#varint();
    });
  }

  /** Reads an event of a span; null if it is no exception. */
  #exception(): Attributes | null {
    let name = "";
    const attributes = new Map<string, AttributeValue>();
    this.#fields((field) => {
      if (field === 2) name = this.#text();
      else if (field === 3) this.#message(() => this.#attribute(attributes));
    });
    return name === "exception" ? attributes : null;
  }

  #attributes(of: number): Attributes {
    const attributes = new Map<string, AttributeValue>();
    this.#fields((field) => {
      if (field === of) this.#message(() => this.#attribute(attributes));
    });
    return attributes;
  }

  /** Reads a key, and its value if a rule reads it. */
  #attribute(into: Map<string, AttributeValue>): void {
    let key: Key | null = null;
    this.#fields((field) => {
      if (field === 1) key = this.#key();
      if (field !== 2 || key === null || !key.isRead) return;
      if (into.size >= SPAN_ATTRIBUTES_MAX) return;
      const value = this.#message(() => this.#value(0));
      if (value !== null) into.set(key.text, value);
    });
  }

  /** Reads a key. Most are those of an earlier span: comparing bytes is faster than decoding them. */
  #key(): Key {
    const bytes = this.#bytes();
    const known = this.#keys.find((key) => isSame(key.bytes, bytes));
    if (known !== undefined) return known;
    const text = decoded(bytes);
    const key = { bytes, text, isRead: this.#isRead(text) };
    if (this.#keys.length < KEYS_MAX) this.#keys.push(key);
    return key;
  }

  /** Reads a value; null for none, for bytes, and below the maximum depth. */
  #value(depth: number): AttributeValue | null {
    let value: AttributeValue | null = null;
    this.#fields((field) => {
      if (field === 1) value = this.#text();
      else if (field === 2) value = this.#varint() !== 0;
      else if (field === 3) value = this.#varint();
      else if (field === 4) value = this.#double();
      else if (depth >= ATTRIBUTE_DEPTH_MAX) return;
      else if (field === 5) value = this.#message(() => this.#list(depth + 1));
      else if (field === 6) value = this.#message(() => this.#map(depth + 1));
    });
    return value;
  }

  #list(depth: number): AttributeValue[] {
    const list: AttributeValue[] = [];
    this.#fields((field) => {
      if (field !== 1) return;
      const value = this.#message(() => this.#value(depth));
      if (value !== null && list.length < SPAN_ATTRIBUTES_MAX) list.push(value);
    });
    return list;
  }

  #map(depth: number): { [key: string]: AttributeValue } {
    const map: [string, AttributeValue][] = [];
    this.#fields((field) => {
      if (field !== 1) return;
      let key = "";
      let value: AttributeValue | null = null;
      this.#message(() =>
        this.#fields((inner) => {
          if (inner === 1) key = this.#text();
          else if (inner === 2) value = this.#message(() => this.#value(depth));
        })
      );
      if (value !== null && map.length < SPAN_ATTRIBUTES_MAX) map.push([key, value]);
    });
    return Object.fromEntries(map);
  }

  /** Calls `read` for each field of the current message; fields that it leaves are skipped. */
  #fields(read: (field: number) => void): void {
    const end = this.#end;
    while (this.#pbf.pos < end) {
      const field = this.#pbf.nextField(end);
      if (field === 0) throw new MalformedBody();
      const valueAt = this.#pbf.pos;
      read(field);
      if (this.#pbf.pos === valueAt) this.#pbf.skip(this.#pbf.type);
    }
    if (this.#pbf.pos !== end) throw new MalformedBody();
  }

  /** Reads a message with `read`. */
  #message<T>(read: () => T): T {
    const parentEnd = this.#end;
    this.#end = this.#bytesEnd();
    const result = read();
    this.#end = parentEnd;
    return result;
  }

  /** Reads the length of bytes and returns their end. */
  #bytesEnd(): number {
    this.#expect(BYTES);
    const end = this.#pbf.readVarint() + this.#pbf.pos;
    if (!(end <= this.#end)) throw new MalformedBody();
    return end;
  }

  #bytes(): Uint8Array {
    const end = this.#bytesEnd();
    const bytes = this.#pbf.buf.subarray(this.#pbf.pos, end);
    this.#pbf.pos = end;
    return bytes;
  }

  #text(): string {
    return decoded(this.#bytes());
  }

  #hex(): string {
    const bytes = this.#bytes();
    return bytes.length > 16 ? "" : bytes.toHex();
  }

  #varint(): number {
    this.#expect(VARINT);
    return this.#pbf.readVarint(true);
  }

  #fixed32(): number {
    this.#expect(FIXED32);
    return this.#pbf.readFixed32();
  }

  #fixed64(): number {
    this.#expect(FIXED64);
    return this.#pbf.readFixed64();
  }

  #double(): number {
    this.#expect(FIXED64);
    return this.#pbf.readDouble();
  }

  #expect(type: number): void {
    if (this.#pbf.type !== type) throw new MalformedBody();
  }
}

function decoded(bytes: Uint8Array): string {
  if (bytes.length <= ATTRIBUTE_CHARS_MAX) return textDecoder.decode(bytes);
  return cutContent(textDecoder.decode(bytes.subarray(0, TEXT_BYTES_MAX)));
}

/** Compares from the end, because keys of one convention begin alike. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = a.length - 1; i >= 0; i--) if (a[i] !== b[i]) return false;
  return true;
}

/** A span with no field sent. */
export const NO_SPAN = {
  traceId: "",
  spanId: "",
  parentId: "",
  name: "",
  kind: 0,
  startNs: 0,
  endNs: 0,
  flags: 0,
  attributes: new Map() as Attributes,
  statusCode: 0,
  statusMessage: "",
  exception: null as Attributes | null,
} satisfies SentSpan;

/** Cuts a text to the kept characters. */
export function cutContent(text: string): string {
  return text.length <= ATTRIBUTE_CHARS_MAX
    ? text
    : `${text.slice(0, ATTRIBUTE_CHARS_MAX - 1).toWellFormed()}…`;
}
