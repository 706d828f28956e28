/** Figures of a run with the words that belong to them. */
import { durationText } from "../components/format.ts";

/** How long after the run's start, such as `+2.4 s`; before it with a minus. */
export function offsetText(ts: number, startMs: number): string {
  return ts < startMs ? `−${durationText(startMs - ts)}` : `+${durationText(ts - startMs)}`;
}
