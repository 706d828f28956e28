/**
 * Ids of the events of spans.
 *
 * @module
 */
import type { EventId, Region } from "../core/ids.ts";
import type { Span } from "./span.ts";

/**
 * Returns the id of a span's event, which follows from the span alone and sorts by time.
 *
 * @param ordinal number of the event among those of the span
 */
export function eventIdOf(
  region: Region,
  { startMs, spanId }: Pick<Span, "startMs" | "spanId">,
  ordinal = 0,
): EventId {
  // Two small numbers are written in a fraction of the time of a large one.
  const ms = Math.floor(startMs);
  const at = sixDigits(Math.floor(ms / SIX_DIGITS)) + sixDigits(ms % SIX_DIGITS);
  return `evt_${region}_${at}7${ordinal.toString(16).padStart(3, "0")}${spanId}` as EventId;
}

/** Number of values of six hex digits. */
const SIX_DIGITS = 0x1000000;

function sixDigits(value: number): string {
  return value.toString(16).padStart(6, "0");
}
