/** Fitting events into what the server takes: a size for each, a size and a count for a batch. */
import {
  EVENT_BYTES_MAX,
  EVENTS_PER_BATCH_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../../domain/core/limits.ts";
import type { ClientJson } from "../client.ts";

/** An event as it is sent. */
export interface WireEvent {
  readonly id: string;
  readonly type: string;
  readonly ts: string;
  readonly turn?: number;
  readonly data: ClientJson;
}

/** Bytes of a value on the wire. */
export function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** The beginning of a text, at most so many UTF-16 units long, never half a character. */
export function cutToBytes(text: string, unitsMax: number): string {
  const cut = text.slice(0, unitsMax);
  const splits = cut.length < text.length && /[\uD800-\uDBFF]$/.test(cut);
  return splits ? cut.slice(0, -1) : cut;
}

/**
 * Builds a value with as much of a text's beginning as fits into so many bytes of JSON; with none
 * of it where even that is too much.
 */
export function fitText<T>(whole: string, bytesMax: number, build: (kept: string) => T): T {
  let keep = whole.length;
  for (;;) {
    const value = build(cutToBytes(whole, keep));
    const bytes = jsonBytes(value);
    if (bytes <= bytesMax || keep === 0) return value;
    // Characters differ in bytes, so a cut in proportion may need another one.
    keep = Math.floor(keep * 0.98 * bytesMax / bytes);
  }
}

/**
 * The event, or one that fits: of the field that may be long the beginning is kept, and the data
 * says so.
 *
 * @param fields the payload's fields that may be cut; the first one present is
 */
export function shortened(event: WireEvent, fields: readonly string[]): WireEvent {
  const field = fields.find((name) => typeof event.data[name] === "string");
  if (field === undefined || jsonBytes(event) <= EVENT_BYTES_MAX) return event;
  const whole = String(event.data[field]);
  return fitText(whole, EVENT_BYTES_MAX, (kept) => {
    const told = { shortened: { field, from_chars: whole.length, to_chars: kept.length } };
    return { ...event, data: { ...event.data, [field]: kept, ...told } };
  });
}

/** `{"events":[` and `]}`. */
const ENVELOPE_BYTES = 13;

/** Splits events, in their order, into as few batches as the server takes without cutting them. */
export function inBatches(events: readonly WireEvent[]): WireEvent[][] {
  const batches: WireEvent[][] = [];
  let room = 0;
  for (const event of events) {
    // One more for the comma.
    const bytes = jsonBytes(event) + 1;
    const batch = batches.at(-1);
    if (batch === undefined || batch.length === EVENTS_PER_BATCH_MAX || bytes > room) {
      batches.push([event]);
      room = WHOLE_BODY_BYTES_MAX - ENVELOPE_BYTES - bytes;
    } else {
      batch.push(event);
      room -= bytes;
    }
  }
  return batches;
}
