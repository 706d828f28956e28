/**
 * A sliding window of outcomes: the latest are kept in the order of arrival, those before them only as
 * the result that they made. The result is computed again from all that are kept, so an outcome that is
 * counted late or twice ends in the same state.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { RunSummary } from "../runs/summary.ts";

/** Outcomes in a row, and the state that they make. */
export interface Streak {
  /** True from too many bad outcomes until enough good ones. */
  readonly isFiring: boolean;
  /** Bad outcomes since the last good one. */
  readonly bads: number;
  /** Good outcomes since the last bad one, or since the last missed deadline. */
  readonly goods: number;
}

/** Numbers of outcomes in a row that change the state. */
export interface Thresholds {
  /** Bad outcomes that make it fire. */
  readonly consecutive: number;
  /** Good outcomes that end it. */
  readonly resolveAfter: number;
}

/** Outcomes of one thing, with a result of the type `Base`. */
export interface Window<Base> {
  /** Result of the outcomes before the kept ones, and the last of them. */
  readonly base: Base & Arrival;
  /** Latest outcomes in order, {@link OUTCOMES_MAX} and a missed deadline at most, each key once. */
  readonly kept: readonly Outcome[];
}

/** Returns the result after one more outcome. */
export type Step<Base> = (before: Base, outcome: Outcome) => Base;

/** Returns a window with one more outcome; the same one if the outcome is older than all kept ones. */
export function addOutcome<Base>(
  window: Window<Base>,
  outcome: Outcome,
  step: Step<Base>,
): Window<Base> {
  if (compareOutcomes(outcome, window.base) <= 0) return window;
  let { base } = window;
  const kept = window.kept.filter(({ key }) => key !== outcome.key);
  kept.splice(kept.findLastIndex((each) => compareOutcomes(each, outcome) < 0) + 1, 0, outcome);
  while (kept.filter(({ kind }) => kind !== "missed").length > OUTCOMES_MAX) {
    const [first = outcome] = kept.splice(0, 1);
    base = { ...step(base, first), at: first.at, key: first.key };
  }
  return { base, kept };
}

/** Returns a window without the outcome of a key; the same one if it keeps none. */
export function removeOutcome<Base>(window: Window<Base>, key: string): Window<Base> {
  const kept = window.kept.filter((outcome) => outcome.key !== key);
  return kept.length === window.kept.length ? window : { ...window, kept };
}

/** Returns the result of all outcomes. */
export function resultOf<Base>({ base, kept }: Window<Base>, step: Step<Base>): Base {
  return kept.reduce<Base>(step, base);
}

/** Returns outcomes in a row after one more. */
export function streakAfter(
  { isFiring, bads, goods }: Streak,
  { kind }: Pick<Outcome, "kind">,
  { consecutive, resolveAfter }: Thresholds,
): Streak {
  if (kind === "good") {
    return { isFiring: isFiring && goods + 1 < resolveAfter, bads: 0, goods: goods + 1 };
  }
  const count = kind === "missed" ? bads : bads + 1;
  return { isFiring: isFiring || kind !== "bad" || count >= consecutive, bads: count, goods: 0 };
}

/** Maximum outcomes that a window keeps, and so the maximum of thresholds. */
export const OUTCOMES_MAX = 32;

/** One outcome of a thing that is watched. */
export interface Outcome {
  /** Arrival, or the instant of a deadline, unix milliseconds. */
  readonly at: number;
  /** Identity within the window; a later outcome of a key replaces the earlier one. */
  readonly key: string;
  /**
   * `overrun`: a run lasts too long; `missed`: no run came. Both are bad at once. `resolved`: a user
   * resolved the incident about those before.
   */
  readonly kind: "good" | "bad" | "overrun" | "missed" | "resolved";
  /** The run; null for none. */
  readonly run: RunId | null;
  /** Measured value; null for none. */
  readonly value: number | null;
  /** Words about it; null for none. */
  readonly detail: string | null;
}

/** The place of an outcome in its window. */
export type Arrival = Pick<Outcome, "at" | "key">;

/** Compares outcomes by arrival; those of one instant have a fixed order. */
export function compareOutcomes(a: Arrival, b: Arrival): number {
  return a.at - b.at || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}

/** Returns how a run ended; null for an open or cancelled run, which is no outcome. */
export function closeKind(summary: RunSummary | null): "good" | "bad" | null {
  const status = summary?.contribution?.labels.status;
  if (status === undefined || status === "running" || status === "cancelled") return null;
  return status === "success" ? "good" : "bad";
}
