/**
 * The timeline of an incident.
 *
 * @module
 */
import { TIMELINE_MAX, type TimelineEntry } from "./incident.ts";

/** Returns a timeline with one more entry; of too many, the first and the latest are kept. */
export function withEntry(
  timeline: readonly TimelineEntry[],
  entry: TimelineEntry,
): readonly TimelineEntry[] {
  if (timeline.length < TIMELINE_MAX) return [...timeline, entry];
  const [first, second, ...rest] = timeline;
  if (first === undefined || second === undefined) return [entry];
  const known = second.what === "left_out" ? second.entries : 0;
  // The first time, the note about what is left out needs a place of its own.
  const dropped = known === 0 ? [second, ...rest.splice(0, 1)] : rest.splice(0, 1);
  const at = dropped.at(-1)?.at ?? second.at;
  const leftOut: TimelineEntry = { at, what: "left_out", entries: known + dropped.length };
  return [first, leftOut, ...rest, entry];
}
