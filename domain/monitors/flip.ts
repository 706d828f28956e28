/**
 * The change of a monitor's state.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { FlipReason, Monitor, MonitorChange, MonitorState } from "./row.ts";

/**
 * Returns a monitor in a state, with the flip to it; without a flip if it is in that state.
 *
 * @param atMs instant of the cause; the flip is not before the last one
 * @param run run that is the cause
 */
export function withFlip(
  monitor: Monitor,
  to: MonitorState,
  atMs: number,
  reason: FlipReason,
  run?: RunId,
): MonitorChange {
  const { state: from, since } = monitor;
  if (from === to) return { monitor, flips: [] };
  const at = Math.max(atMs, since);
  return {
    monitor: { ...monitor, state: to, since: at },
    flips: [{ at, from, to, reason, ...run === undefined ? {} : { run } }],
  };
}
