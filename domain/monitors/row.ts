/**
 * A monitor as stored, its settings, the outcomes that it keeps, and the changes of its state
 * (decisions 107 to 111); queries for monitors.
 *
 * @module
 */
import type { Schedule } from "./schedule.ts";
import {
  addOutcome,
  type Outcome,
  resultOf,
  type Streak,
  streakAfter,
  type Window,
} from "../outcomes/window.ts";
import type { RunId } from "../core/ids.ts";
import type { PageBounds } from "../core/query.ts";

/** Settings of an agent's monitor. */
export interface MonitorSettings {
  /** When the agent is expected. */
  readonly schedule: Schedule;
  /** Seconds after the expected time until it is down. */
  readonly graceSeconds: number;
  /** Seconds after which an open run counts as a failure; null for no limit. */
  readonly maxRuntimeSeconds: number | null;
  /** Failures in a row after which it is down. */
  readonly failureThreshold: number;
  /** Successes in a row after which it is up again. */
  readonly recoveryThreshold: number;
  /** False to judge nothing. */
  readonly enabled: boolean;
}

/** States of a monitor. */
export const MONITOR_STATES = ["new", "up", "late", "down", "paused"] as const;

/**
 * One of {@link MONITOR_STATES}: `new`: its agent has never finished a run; `late`: a run is
 * expected, and its grace has not ended.
 */
export type MonitorState = typeof MONITOR_STATES[number];

/** Why a monitor changed its state. */
export const FLIP_REASONS = [
  "created",
  "arrived",
  "expected",
  "missed",
  "failed",
  "overrun",
  "recovered",
  "paused",
  "resumed",
  "changed",
  "absence",
] as const;

/** One of {@link FLIP_REASONS}; `changed`: the settings. */
export type FlipReason = typeof FLIP_REASONS[number];

/** A change of a monitor's state, or a time in which nothing was judged. */
export interface Flip {
  /** Instant of the change, unix milliseconds: the deadline's or the arrival's, not the evaluation's. */
  readonly at: number;
  /** State before; null when the monitor was created. */
  readonly from: MonitorState | null;
  /** State after; `unknown` from `at` to `until`, while no process did the background work. */
  readonly to: MonitorState | "unknown";
  /** Why. */
  readonly reason: FlipReason;
  /** End of an `unknown` time, unix milliseconds; absent for a change. */
  readonly until?: number;
  /** The run that caused it; absent for none. */
  readonly run?: RunId;
}

/** Outcomes in a row, and the reason for which they make a monitor down. */
export interface MonitorStreak extends Streak {
  /** Reason; null if it is not down. */
  readonly reason: "failed" | "overrun" | "missed" | null;
}

/** Outcomes of an agent: closes of its runs, runs that last too long, and a missed deadline. */
export type MonitorWindow = Window<MonitorStreak>;

/** A monitor as stored. Its state is a function of its settings, outcomes and deadlines. */
export interface Monitor {
  /** Agent's slug. */
  readonly agent: string;
  /** Identifier, `mon_…`. */
  readonly id: string;
  /** Number of the settings' version, from 1. */
  readonly version: number;
  /** The team's settings. */
  readonly settings: MonitorSettings;
  /** Creation, unix milliseconds. */
  readonly createdAt: number;
  /** Latest outcomes of its agent, and a missed deadline. */
  readonly outcomes: MonitorWindow;
  /** Last change of the settings, unix milliseconds. */
  readonly updatedAt: number;
  /** Identifier of the credential that made the last change. */
  readonly updatedBy: string;
  /** Current state. */
  readonly state: MonitorState;
  /** Instant of the flip to the current state, unix milliseconds. */
  readonly since: number;
  /** Latest arrival of an outcome, unix milliseconds; null for none. */
  readonly lastArrivalAt: number | null;
  /** Latest arrival of a successful outcome, unix milliseconds; null for none. */
  readonly lastOkAt: number | null;
  /** Instant from which runs are expected: its creation, resumption or new schedule. */
  readonly watchedFrom: number;
  /** When the next run is expected by the schedule; null if none is. */
  readonly expectedAt: number | null;
  /** Instant before which nothing is late, after an absence; unix milliseconds, null for none. */
  readonly excusedUntil: number | null;
  /** End of the latest absence that its flips show, unix milliseconds; null for none. */
  readonly absentUntil: number | null;
  /** Pause in force; null for none. */
  readonly pause: MonitorPause | null;
  /** Time of its row in the work queue, unix milliseconds; null for none. */
  readonly dueAt: number | null;
  /** Position in the agent's runs up to which overruns are counted; null for none. */
  readonly overrunsAfter: { readonly at: number; readonly run: string } | null;
}

/** A pause of a monitor. */
export interface MonitorPause {
  /** End, unix milliseconds; null for none. */
  readonly untilMs: number | null;
  /** True if a successful run does not end it. */
  readonly isSticky: boolean;
}

/** A monitor after a change, with the flips that it caused. */
export interface MonitorChange {
  /** The monitor after the change. */
  readonly monitor: Monitor;
  /** Flips, in order. */
  readonly flips: readonly Flip[];
}

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

/** A key that sorts after those of all runs, and the key of the missed deadline, which is after it. */
const AFTER_RUNS = "~", MISSED = "~missed";

/** Returns the outcome of a run. One run may end, last too long and end again. */
export function runOutcome(kind: "good" | "bad" | "overrun", run: RunId, at: number): Outcome {
  return { at, key: `${run} ${kind}`, kind, run, value: null, detail: null };
}

/** Returns the outcome of a missed deadline. */
export function missedOutcome(at: number): Outcome {
  return { at, key: MISSED, kind: "missed", run: null, value: null, detail: null };
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
  return { ...monitor, outcomes: addOutcome(others, missedOutcome(at), stepOf(settings)) };
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

/** A monitor with the activity of its agent. */
export interface MonitorRecord {
  /** The monitor. */
  readonly monitor: Monitor;
  /** Number of the agent's open runs. */
  readonly running: number;
}

/** Settings that fit an agent's latest runs (decision 113). */
export interface MonitorProposal {
  /** When the agent is expected. */
  readonly schedule: Schedule;
  /** Seconds of grace. */
  readonly graceSeconds: number;
  /** Number of runs that it was derived from. */
  readonly fromRuns: number;
  /** Fraction of the gaps that it explains, 0 to 1. */
  readonly hits: number;
}

/** A query for a list of monitors. */
export interface MonitorsQuery extends PageBounds<string> {
  /** Only monitors in this state; null for all. */
  readonly state: MonitorState | null;
}

/** A query for the flips of an agent, latest first. */
export interface FlipsQuery extends PageBounds<number> {
  /** Earliest instant, inclusive, unix milliseconds. */
  readonly fromMs: number;
  /** Latest instant, exclusive, unix milliseconds. */
  readonly toMs: number;
}

/** Days for which flips are kept. */
export const FLIP_DAYS = 400;

/** Monitors per page, and flips per page. */
export const MONITORS_PER_PAGE = { default: 100, max: 500 } as const;
