/**
 * Outcomes of an agent in a row: the window that its monitor keeps (decisions 107 and 110).
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import { addOutcome, type Outcome, resultOf, streakAfter } from "../outcomes/window.ts";
import type { Monitor, MonitorSettings, MonitorStreak, MonitorWindow } from "./row.ts";

/** A key that sorts after those of all runs, and the key of the missed deadline, which is after it. */
const AFTER_RUNS = "~", MISSED = "~missed";

/** Returns the outcome of a run. One run may end, last too long and end again. */
export function runOutcome(kind: "good" | "bad" | "overrun", run: RunId, at: number): Outcome {
  return { at, key: `${run} ${kind}`, kind, run, value: null, detail: null };
}

/** Returns a window in which only outcomes after an instant count; a missed deadline is forgotten. */
export function windowFrom(at: number, outcomes: readonly Outcome[]): MonitorWindow {
  const base = { at, key: AFTER_RUNS, isFiring: false, bads: 0, goods: 0, reason: null };
  return { base, kept: outcomes.filter((each) => each.at > at && each.key !== MISSED) };
}

/** Returns a monitor that keeps the outcome of a run. */
export function withRunOutcome(monitor: Monitor, outcome: Outcome): Monitor {
  const { outcomes, settings } = monitor;
  const known = outcomes.kept.find(({ key }) => key === outcome.key);
  // A run that is reopened after an idle close ends again: its latest close counts.
  if (known !== undefined && known.at >= outcome.at) return monitor;
  return { ...monitor, outcomes: addOutcome(outcomes, outcome, stepOf(settings)) };
}

/** Returns a monitor that missed a deadline, instead of the one before; null for none. */
export function withMissed(monitor: Monitor, at: number | null): Monitor {
  const { outcomes: { base, kept }, settings } = monitor;
  const others = { base, kept: kept.filter(({ key }) => key !== MISSED) };
  if (at === null) return { ...monitor, outcomes: others };
  const missed: Outcome = { at, key: MISSED, kind: "missed", run: null, value: null, detail: null };
  return { ...monitor, outcomes: addOutcome(others, missed, stepOf(settings)) };
}

/** Returns the deadline that was missed, unix milliseconds; null for none. */
export function missedAt({ outcomes: { kept } }: Pick<Monitor, "outcomes">): number | null {
  return kept.find(({ key }) => key === MISSED)?.at ?? null;
}

/** Returns the outcomes of a monitor in a row. */
export function streakOf({ outcomes: { base, kept }, settings }: Monitor): MonitorStreak {
  return resultOf({ base, kept: kept.filter((each) => !isOver(each, kept)) }, stepOf(settings));
}

/** Returns whether a run that was too long had ended before, which was not known at that time. */
function isOver({ at, run, kind }: Outcome, kept: readonly Outcome[]): boolean {
  return kind === "overrun" &&
    kept.some((other) => other.run === run && other.kind !== "overrun" && other.at <= at);
}

function stepOf({ failureThreshold, recoveryThreshold }: MonitorSettings) {
  const thresholds = { consecutive: failureThreshold, resolveAfter: recoveryThreshold };
  return (before: MonitorStreak, outcome: Outcome): MonitorStreak => {
    const streak = streakAfter(before, outcome, thresholds);
    const cause = outcome.kind === "overrun" || outcome.kind === "missed" ? outcome.kind : "failed";
    const reason = !streak.isFiring ? null : before.isFiring ? before.reason : cause;
    return { ...streak, reason };
  };
}
