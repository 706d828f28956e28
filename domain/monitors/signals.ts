/**
 * Signals of an agent, and the failures in a row that they make (decisions 107 and 110).
 *
 * The latest signals are kept in the order of arrival, and what they make is computed again from all
 * of them. So a signal that is counted late or twice ends in the same state.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";

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

/** Outcomes in a row, and whether they make a monitor down. */
export interface Streak {
  /** True from the last failure of too many until enough successes. */
  readonly isDown: boolean;
  /** Failures since the last success. */
  readonly fails: number;
  /** Successes since the last failure, or since it was missed. */
  readonly oks: number;
  /** Reason for which it went down; null if it is not. */
  readonly reason: "failed" | "overrun" | "missed" | null;
}

/** The outcomes before the signals that are kept. */
export interface Base extends Streak {
  /** Instant of the last one, or the instant from which signals count, unix milliseconds. */
  readonly at: number;
  /** Name of the last signal among those of its instant; greater than any for none. */
  readonly name: string;
}

/** Numbers of outcomes in a row that change the state. */
export interface Thresholds {
  /** Failures in a row after which it is down. */
  readonly failureThreshold: number;
  /** Successes in a row after which it is up again. */
  readonly recoveryThreshold: number;
}

/** A name that sorts after each signal's. */
const AFTER_ALL = "~";

/** Signals that are kept, with what was before them. */
export interface SignalWindow {
  /** Outcomes before them. */
  readonly base: Base;
  /** Signals in order, {@link SIGNALS_MAX} at most, each outcome of a run once. */
  readonly signals: readonly Signal[];
  /** Deadline that was missed and not reached by a later signal, unix milliseconds; null for none. */
  readonly missedAt: number | null;
}

/** Returns a window in which only signals after an instant count. */
export function windowFrom(at: number, signals: readonly Signal[]): SignalWindow {
  return {
    base: { at, name: AFTER_ALL, isDown: false, fails: 0, oks: 0, reason: null },
    signals: signals.filter((signal) => signal.at > at),
    missedAt: null,
  };
}

/** Returns a window with one more signal; the same window if it changes nothing. */
export function addSignal<Window extends SignalWindow>(
  window: Window,
  signal: Signal,
  thresholds: Thresholds,
): Window {
  const { base } = window;
  if (compareSignals(signal, base) <= 0) return window;
  const isSame = ({ run, outcome }: Signal) => run === signal.run && outcome === signal.outcome;
  const known = window.signals.find(isSame);
  // A run that is reopened after an idle close ends again: its latest close counts.
  if (known !== undefined && known.at >= signal.at) return window;
  const signals = window.signals.filter((each) => each !== known);
  const index = signals.findLastIndex((each) => compareSignals(each, signal) < 0) + 1;
  signals.splice(index, 0, signal);
  const [first] = signals;
  if (signals.length <= SIGNALS_MAX || first === undefined) return { ...window, signals };
  const streak = streakOf(
    { base, signals: [first], missedAt: passedBy(window, first) },
    thresholds,
  );
  return {
    ...window,
    base: { ...streak, at: first.at, name: nameOf(first) },
    signals: signals.slice(1),
  };
}

/** Returns what the base and the signals make. */
export function streakOf(
  { base, signals, missedAt }: SignalWindow,
  thresholds: Thresholds,
): Streak {
  let streak: Streak = base;
  let missed = missedAt !== null && missedAt > base.at ? missedAt : null;
  for (const signal of signals) {
    if (missed !== null && missed < signal.at) {
      streak = afterMiss(streak);
      missed = null;
    }
    if (isOver(signal, signals)) continue;
    streak = afterSignal(streak, signal, thresholds);
  }
  return missed === null ? streak : afterMiss(streak);
}

/** Returns the missed deadline if a signal is after it, so that the base takes it up. */
function passedBy({ base, missedAt }: SignalWindow, first: Signal): number | null {
  return missedAt !== null && missedAt > base.at && missedAt < first.at ? missedAt : null;
}

/** Returns whether a run that was too long had ended before, which was not known at that time. */
function isOver({ at, run, outcome }: Signal, signals: readonly Signal[]): boolean {
  return outcome === "overrun" &&
    signals.some((other) => other.run === run && other.outcome !== "overrun" && other.at <= at);
}

function afterSignal(
  { isDown, fails, oks, reason }: Streak,
  { outcome }: Signal,
  { failureThreshold, recoveryThreshold }: Thresholds,
): Streak {
  if (outcome === "ok") {
    const stays = isDown && oks + 1 < recoveryThreshold;
    return { isDown: stays, fails: 0, oks: oks + 1, reason: stays ? reason : null };
  }
  const isEnough = outcome === "overrun" || fails + 1 >= failureThreshold;
  const cause = outcome === "overrun" ? "overrun" : "failed";
  return {
    isDown: isDown || isEnough,
    fails: fails + 1,
    oks: 0,
    reason: isDown ? reason : isEnough ? cause : null,
  };
}

function afterMiss({ isDown, fails, reason }: Streak): Streak {
  return { isDown: true, fails, oks: 0, reason: isDown ? reason : "missed" };
}

/** Compares signals by arrival; those of one instant have a fixed order. */
export function compareSignals(a: Signal, b: Signal | Base): number {
  if (a.at !== b.at) return a.at - b.at;
  const [left, right] = [nameOf(a), nameOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

function nameOf(signal: Signal | Base): string {
  return "name" in signal ? signal.name : `${signal.run} ${signal.outcome}`;
}
