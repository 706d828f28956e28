/**
 * Signals of monitors.
 *
 * @module
 */
import type { Flip, MonitorState } from "../monitors/monitor.ts";
import { type AlertSignal, newSignal, TEAM } from "./signal.ts";

/** Returns the signals that the flips of an agent's monitor give rules of kind `missed`. */
export function missedSignals(agent: string, flips: readonly Flip[]): AlertSignal[] {
  return flips.flatMap(({ at, from, to, reason, run = null }) => {
    if (to === "down") return [{ ...signalOf(agent, at, "bad"), detail: reason, run }];
    if (from !== "down" || to === "unknown") return [];
    return [signalOf(agent, at, to === "paused" ? "paused" : "good")];
  });
}

/** Returns the signal of a monitor that is deleted; none if it was not down. */
export function deletedSignals(agent: string, state: MonitorState, atMs: number): AlertSignal[] {
  return state === "down" ? [signalOf(agent, atMs, "paused")] : [];
}

function signalOf(agent: string, at: number, outcome: AlertSignal["outcome"]): AlertSignal {
  return newSignal({ kind: "missed", key: agent, at, outcome, subject: { ...TEAM, agent } });
}
