/** The largest legal values, and bodies that cost their sender little. */
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { BODY_BYTES_MAX, LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { uuid7Hex } from "../../../domain/core/ids.ts";

const encoder = new TextEncoder();

/** A character of 4 bytes of UTF-8 and two units in memory. */
export const WIDE = "𐍈";

/** A character of 3 bytes of UTF-8 and one unit in memory. */
export const THREE_BYTES = "€";

/** An id that was never used. */
export function newId(kind: "run" | "evt" | "scr"): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  return `${kind}_eu_${uuid7Hex(Date.now(), random)}`;
}

/** The present instant. */
export function instant(msAgo = 0): string {
  return new Date(Date.now() - msAgo).toISOString();
}

/** The longest label with a number in it: nearly all its characters have 4 bytes. */
export function label(n: number | string, chars: number = LABEL_CHARS_MAX): string {
  const text = String(n);
  return text + WIDE.repeat(chars - text.length);
}

/** An event; its `data` is a log line unless it says otherwise. */
export function anEvent(data: unknown = { message: "a line" }, fields: object = {}) {
  return { id: newId("evt"), type: "log", ts: instant(), data, ...fields };
}

/** So many events made one after another. */
export function events(count: number, make: (n: number) => unknown = () => anEvent()) {
  return { events: Array.from({ length: count }, (_, n) => make(n)) };
}

/** A model call of an event. */
export function aCall(provider: string, model: string) {
  const data = { provider, model, input_tokens: 1_000, output_tokens: 100 };
  return anEvent(data, { type: "llm_call" });
}

/** Compresses a body. */
export function gzip(body: unknown): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(typeof body === "string" ? body : JSON.stringify(body)));
}

/** The largest legal body with a given beginning, compressed once for all beginnings. */
export class Padded {
  readonly #tail: Uint8Array;
  readonly #deflated: Uint8Array;

  /** Takes bytes that a beginning may have, up to the largest body. */
  constructor(headBytesMax: number) {
    const tail = `,"padding":"${"p".repeat(BODY_BYTES_MAX - headBytesMax - 14)}"}`;
    this.#tail = encoder.encode(tail);
    this.#deflated = deflateRawSync(this.#tail);
  }

  /** Bytes of gzip of an object's text, whose last brace gives way to the padding. */
  of(object: unknown): Uint8Array<ArrayBuffer> {
    const head = encoder.encode(JSON.stringify(object).slice(0, -1));
    const parts: Uint8Array[] = [new Uint8Array([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])];
    // Stored blocks hold what changes; the compressed rest is the same each time.
    for (let at = 0; at < head.length; at += 65_535) {
      const part = head.subarray(at, at + 65_535);
      const size = part.length;
      const [low, high] = [size & 255, size >> 8];
      parts.push(new Uint8Array([0, low, high, ~low & 255, ~high & 255]), part);
    }
    const end = new DataView(new ArrayBuffer(8));
    end.setUint32(0, crc32(this.#tail, crc32(head)), true);
    end.setUint32(4, head.length + this.#tail.length, true);
    parts.push(this.#deflated, new Uint8Array(end.buffer));
    return concat(parts);
  }
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** So many bytes that do not compress, as text of two digits each. */
export function noise(bytes: number): string {
  const random = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 65_536) {
    crypto.getRandomValues(random.subarray(at, at + 65_536));
  }
  return random.toBase64();
}

/** Objects one within another. */
export function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
}

/** As many elements as fit into so many bytes. */
export function filled(bytes: number, element: string): string {
  const count = Math.floor((bytes - 2) / (element.length + 1));
  return `[${Array(count).fill(element).join(",")}]`;
}

/** An object with as many members as fit into so many bytes, each of another name. */
export function members(bytes: number, value = "0"): string {
  const parts: string[] = [];
  for (let used = 2, n = 0;; n++) {
    const part = `"${n.toString(36)}":${value}`;
    used += part.length + 1;
    if (used > bytes) return `{${parts.join(",")}}`;
    parts.push(part);
  }
}

/** A batch of events whose data is given as text. */
export function textOf(data: string, count: number): string {
  const event = () =>
    `{"id":"${newId("evt")}","type":"log","ts":"${instant()}","data":{"a":${data}}}`;
  return `{"events":[${Array.from({ length: count }, event).join(",")}]}`;
}
