/**
 * Signals of monitors.
 *
 * @module
 */
import { minuteOf } from "../channels/forms/words.ts";
import type { Flip, Monitor } from "../monitors/monitor.ts";
import { scheduleWords } from "../monitors/schedule.ts";
import { type AlertSignal, newSignal, TEAM } from "./signal.ts";

/** Returns the signals that the flips of a monitor give rules of kind `missed`. */
export function missedSignals(monitor: Monitor, flips: readonly Flip[]): AlertSignal[] {
  return flips.flatMap((flip): AlertSignal[] => {
    const { at, from, to, reason, run = null } = flip;
    if (to === "down") {
      const words = reason === "missed" ? missedWords(monitor, flip) : null;
      return [{ ...signalOf(monitor, at, "bad"), detail: reason, run, words }];
    }
    if (from !== "down" || to === "unknown") return [];
    return [signalOf(monitor, at, to === "paused" ? "paused" : "good")];
  });
}

/** Returns the signal of a monitor that is deleted; none if it was not down. */
export function deletedSignals(monitor: Monitor, atMs: number): AlertSignal[] {
  return monitor.state === "down" ? [signalOf(monitor, atMs, "paused")] : [];
}

/** Says when a missed run was due, by which schedule, and when the last one arrived. */
function missedWords(
  { settings, expectedAt, lastArrivalAt }: Monitor,
  { at }: Flip,
): string | null {
  // Of a run that was missed long ago, the monitor knows only what came after.
  if (expectedAt === null || expectedAt > at) return null;
  const { schedule } = settings;
  const zone = "cron" in schedule ? ` ${schedule.tz}` : "";
  const words = scheduleWords(schedule);
  const due = `due ${minuteOf(expectedAt)} (${words.charAt(0).toLowerCase()}${
    words.slice(1)
  }${zone})`;
  return lastArrivalAt === null ? due : `${due}, last arrival ${minuteOf(lastArrivalAt)}`;
}

function signalOf({ agent }: Monitor, at: number, outcome: AlertSignal["outcome"]): AlertSignal {
  return newSignal({ kind: "missed", key: agent, at, outcome, subject: { ...TEAM, agent } });
}
