/** Fits events into the server's limits: bytes of an event, bytes and events of a batch. */
import {
  EVENT_BYTES_MAX,
  EVENTS_PER_BATCH_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../domain/core/limits.ts";
import type { ClientJson } from "./client.ts";

/** An event of a request. */
export interface WireEvent {
  readonly id: string;
  readonly type: string;
  readonly ts: string;
  readonly turn?: number;
  readonly data: ClientJson;
}

/** Returns the bytes of a value as JSON. */
export function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** Returns the start of a text, at most `unitsMax` UTF-16 units, without splitting a character. */
export function cutUnits(text: string, unitsMax: number): string {
  const cut = text.slice(0, unitsMax);
  const splits = cut.length < text.length && /[\uD800-\uDBFF]$/.test(cut);
  return splits ? cut.slice(0, -1) : cut;
}

/**
 * Builds a value with the longest start of a text that fits into `bytesMax` of JSON; an empty text
 * if nothing fits.
 */
export function fitText<T>(text: string, bytesMax: number, build: (cut: string) => T): T {
  let units = text.length;
  for (;;) {
    const value = build(cutUnits(text, units));
    const bytes = jsonBytes(value);
    if (bytes <= bytesMax || units === 0) return value;
    // Characters differ in bytes, so a proportional cut may need another one.
    units = Math.floor(units * 0.98 * bytesMax / bytes);
  }
}

/** The field of each payload that may be long. */
const TEXT_FIELDS = ["text", "action", "output"];

/**
 * Returns the event, or a copy with a shortened field that fits; `shortened` in its data has the
 * lengths.
 */
export function shortened(event: WireEvent): WireEvent {
  const field = TEXT_FIELDS.find((name) => typeof event.data[name] === "string");
  if (field === undefined || jsonBytes(event) <= EVENT_BYTES_MAX) return event;
  const text = String(event.data[field]);
  return fitText(text, EVENT_BYTES_MAX, (cut) => {
    const lengths = { shortened: { field, from_chars: text.length, to_chars: cut.length } };
    return { ...event, data: { ...event.data, [field]: cut, ...lengths } };
  });
}

/** Bytes of `{"events":[` and `]}`. */
const ENVELOPE_BYTES = 13;

/** Splits events, in order, into as few batches as the server accepts. */
export function inBatches(
  events: readonly WireEvent[],
  eventsMax = EVENTS_PER_BATCH_MAX,
): WireEvent[][] {
  const batches: WireEvent[][] = [];
  let bytesLeft = 0;
  for (const event of events) {
    // Plus one byte for the comma.
    const bytes = jsonBytes(event) + 1;
    const batch = batches.at(-1);
    if (batch === undefined || batch.length === eventsMax || bytes > bytesLeft) {
      batches.push([event]);
      bytesLeft = WHOLE_BODY_BYTES_MAX - ENVELOPE_BYTES - bytes;
    } else {
      batch.push(event);
      bytesLeft -= bytes;
    }
  }
  return batches;
}
