/** Times of a run as texts. */
import { durationText } from "../components/format.ts";

/** The time after the start of a run, such as `+2.4 s`; before it with a minus. */
export function offsetText(ts: number, startMs: number): string {
  return ts < startMs ? `−${durationText(startMs - ts)}` : `+${durationText(ts - startMs)}`;
}
