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
  const at = Math.floor(startMs).toString(16).padStart(12, "0");
  return `evt_${region}_${at}7${ordinal.toString(16).padStart(3, "0")}${spanId}` as EventId;
}
