/** Largest valid values, and bodies that cost their sender little. */
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { BODY_BYTES_MAX, LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { uuid7Hex } from "../../../domain/core/ids.ts";

const encoder = new TextEncoder();

/** A character of 4 bytes in UTF-8 and two units in memory. */
export const WIDE = "𐍈";

/** A character of 3 bytes in UTF-8 and one unit in memory. */
export const THREE_BYTES = "€";

/** Creates a new id. */
export function newId(kind: "run" | "evt" | "scr"): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  return `${kind}_eu_${uuid7Hex(Date.now(), random)}`;
}

/** Returns an instant `msAgo` before now. */
export function instant(msAgo = 0): string {
  return new Date(Date.now() - msAgo).toISOString();
}

/** Returns the longest label that starts with `n`; nearly all its characters have 4 bytes. */
export function label(n: number | string, chars: number = LABEL_CHARS_MAX): string {
  const text = String(n);
  return text + WIDE.repeat(chars - text.length);
}

/** Creates an event; its `data` is a log line by default. */
export function anEvent(data: unknown = { message: "a line" }, fields: object = {}) {
  return { id: newId("evt"), type: "log", ts: instant(), data, ...fields };
}

/** Creates a batch of `count` events. */
export function events(count: number, make: (n: number) => unknown = () => anEvent()) {
  return { events: Array.from({ length: count }, (_, n) => make(n)) };
}

/** Creates an event with a model call. */
export function aCall(provider: string, model: string) {
  const data = { provider, model, input_tokens: 1_000, output_tokens: 100 };
  return anEvent(data, { type: "llm_call" });
}

/** Compresses a body: text, bytes, or a value in JSON. */
export function gzip(body: unknown): Uint8Array<ArrayBuffer> {
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  return new Uint8Array(gzipSync(isRaw ? body : JSON.stringify(body)));
}

/** Pads an object to the largest valid body; the padding is compressed once for all objects. */
export class Padded {
  readonly #tail: Uint8Array;
  readonly #deflated: Uint8Array;

  /** `headBytesMax`: maximum bytes of the object before the padding. */
  constructor(headBytesMax: number) {
    const tail = `,"padding":"${"p".repeat(BODY_BYTES_MAX - headBytesMax - 14)}"}`;
    this.#tail = encoder.encode(tail);
    this.#deflated = deflateRawSync(this.#tail);
  }

  /** Returns gzip bytes of an object's text with the padding before its last brace. */
  of(object: unknown): Uint8Array<ArrayBuffer> {
    const head = encoder.encode(JSON.stringify(object).slice(0, -1));
    const chunks: Uint8Array[] = [new Uint8Array([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])];
    // Stored blocks hold the object; the compressed padding is the same each time.
    for (let at = 0; at < head.length; at += 65_535) {
      const chunk = head.subarray(at, at + 65_535);
      const size = chunk.length;
      const [low, high] = [size & 255, size >> 8];
      chunks.push(new Uint8Array([0, low, high, ~low & 255, ~high & 255]), chunk);
    }
    const end = new DataView(new ArrayBuffer(8));
    end.setUint32(0, crc32(this.#tail, crc32(head)), true);
    end.setUint32(4, head.length + this.#tail.length, true);
    chunks.push(this.#deflated, new Uint8Array(end.buffer));
    return concat(chunks);
  }
}

function concat(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}

/** Returns `bytes` random bytes in base64, which do not compress. */
export function noise(bytes: number): string {
  const random = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 65_536) {
    crypto.getRandomValues(random.subarray(at, at + 65_536));
  }
  return random.toBase64();
}

/** Returns objects nested `levels` deep. */
export function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
}

/** Returns an array with as many elements as fit into `bytes` bytes. */
export function filled(bytes: number, element: string): string {
  const count = Math.floor((bytes - 2) / (element.length + 1));
  return `[${Array(count).fill(element).join(",")}]`;
}

/** Returns an object with as many distinct members as fit into `bytes` bytes. */
export function members(bytes: number, value = "0"): string {
  const chunks: string[] = [];
  for (let used = 2, n = 0;; n++) {
    const chunk = `"${n.toString(36)}":${value}`;
    used += chunk.length + 1;
    if (used > bytes) return `{${chunks.join(",")}}`;
    chunks.push(chunk);
  }
}

/** Returns a batch of events whose data is JSON text. */
export function textOf(data: string, count: number): string {
  const event = () =>
    `{"id":"${newId("evt")}","type":"log","ts":"${instant()}","data":{"a":${data}}}`;
  return `{"events":[${Array.from({ length: count }, event).join(",")}]}`;
}
