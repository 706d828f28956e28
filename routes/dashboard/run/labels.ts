/** Formats times of a run. */
import { durationText } from "../components/format.ts";

/** Formats the time since the start of a run, such as `+2.4 s`; earlier times have a minus. */
export function offsetText(ts: number, startMs: number): string {
  return ts < startMs ? `−${durationText(startMs - ts)}` : `+${durationText(ts - startMs)}`;
}
