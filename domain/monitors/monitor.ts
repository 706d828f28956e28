/**
 * The monitor of an agent: whether its runs come when they are expected (decisions 107 to 111).
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { Schedule } from "./schedule.ts";

/** What a team sets for the monitor of an agent. */
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
  "absence",
] as const;

/** One of {@link FLIP_REASONS}. */
export type FlipReason = typeof FLIP_REASONS[number];

/** A change of a monitor's state, or a time in which nothing was judged. */
export interface Flip {
  /** Instant of the change, unix milliseconds: the deadline's or the arrival's, not the look's. */
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

/** A signal of an agent that a monitor counts: the outcome of a run, or that one runs too long. */
export interface Signal {
  /** Arrival of the close, or the instant at which the run was too long, unix milliseconds. */
  readonly at: number;
  /** The run. */
  readonly run: RunId;
  /** Outcome. A cancelled run is no signal. */
  readonly outcome: "ok" | "fail" | "overrun";
}

/** Maximum signals that a monitor keeps, and so the maximum of its thresholds. */
export const SIGNALS_MAX = 32;

/** A monitor as stored. Its state is a function of its settings, signals and deadlines. */
export interface Monitor {
  /** Agent's slug. */
  readonly agent: string;
  /** Identifier, `mon_…`. */
  readonly id: string;
  /** Number of the settings' version, from 1. */
  readonly version: number;
  /** What the team set. */
  readonly settings: MonitorSettings;
  /** Creation, unix milliseconds. */
  readonly createdAt: number;
  /** Last change of the settings, unix milliseconds. */
  readonly updatedAt: number;
  /** Identifier of the credential that made the last change. */
  readonly updatedBy: string;
  /** Current state. */
  readonly state: MonitorState;
  /** Instant of the flip to the current state, unix milliseconds. */
  readonly since: number;
  /** Latest signals by arrival and run, oldest first, {@link SIGNALS_MAX} at most. */
  readonly signals: readonly Signal[];
  /** Latest arrival of an outcome, unix milliseconds; null for none. */
  readonly lastArrivalAt: number | null;
  /** Latest arrival of a successful outcome, unix milliseconds; null for none. */
  readonly lastOkAt: number | null;
  /** Pause in force; null for none. */
  readonly pause: MonitorPause | null;
  /** Time of its row in the due index, unix milliseconds; null for none. */
  readonly dueAt: number | null;
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
