/** Largest valid values, and bodies that cost their sender little. */
import { gzipSync } from "node:zlib";
import { BODY_BYTES_MAX, LABEL_CHARS_MAX } from "../../../domain/core/limits.ts";
import { uuid7Hex } from "../../../domain/core/ids.ts";

/** A character of 4 bytes in UTF-8 and two units in memory. */
export const WIDE = "𐍈";

export function newId(kind: "run" | "evt" | "scr"): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  return `${kind}_eu_${uuid7Hex(Date.now(), random)}`;
}

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

export function events(count: number, make: (n: number) => unknown = () => anEvent()) {
  return { events: Array.from({ length: count }, (_, n) => make(n)) };
}

export function aCall(provider: string, model: string) {
  const data = { provider, model, input_tokens: 1_000, output_tokens: 100 };
  return anEvent(data, { type: "llm_call" });
}

/** Compresses a body: text, bytes, or a value in JSON. */
export function gzip(body: unknown): Uint8Array<ArrayBuffer> {
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  return new Uint8Array(gzipSync(isRaw ? body : JSON.stringify(body)));
}

/** Pads an object to the largest valid body: 2 kB on the wire. */
export function padded(object: object): Uint8Array<ArrayBuffer> {
  const text = JSON.stringify(object).slice(0, -1);
  const padding = "p".repeat(BODY_BYTES_MAX - text.length - 20);
  return new Uint8Array(gzipSync(`${text},"padding":"${padding}"}`, { level: 1 }));
}

/** Returns `bytes` random bytes in base64, which do not compress. */
export function noise(bytes: number): string {
  const random = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += 65_536) {
    crypto.getRandomValues(random.subarray(at, at + 65_536));
  }
  return random.toBase64();
}

export function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
}

/** Returns an array with as many elements as fit into `bytes` bytes. */
export function filled(bytes: number, element: string): string {
  const count = Math.floor((bytes - 2) / (element.length + 1));
  return `[${Array(count).fill(element).join(",")}]`;
}

/** Returns a batch of events whose data is JSON text. */
export function textOf(data: string, count: number): string {
  const event = () =>
    `{"id":"${newId("evt")}","type":"log","ts":"${instant()}","data":{"a":${data}}}`;
  return `{"events":[${Array.from({ length: count }, event).join(",")}]}`;
}

/** Returns a key of the right form that no team has. */
export function madeUpKey(): string {
  return `apk_eu_${crypto.randomUUID().replaceAll("-", "")}`;
}
