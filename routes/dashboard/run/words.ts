/** Figures of a run with the words that belong to them. */
import { countText, durationText } from "../parts/format.ts";

/** How long after the run's start, such as `+2.4 s`; before it with a minus. */
export function offsetText(ts: number, startMs: number): string {
  return ts < startMs ? `−${durationText(startMs - ts)}` : `+${durationText(ts - startMs)}`;
}

/** How many of something there are: `1 event`, `1,200 events`. */
export function countedText(count: number, what: string): string {
  return `${countText(count)} ${what}${count === 1 ? "" : "s"}`;
}
