/**
 * Outcomes that rules and monitors count (decisions 74 and 107).
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { RunSummary } from "../runs/summary.ts";

/** Maximum outcomes that a window keeps, and so the maximum of thresholds. */
export const OUTCOMES_MAX = 32;

/** One outcome of a thing that is watched. */
export interface Outcome {
  /** Arrival, or the instant of a deadline, unix milliseconds. */
  readonly at: number;
  /** Identity within the window; a later outcome of a key replaces the earlier one. */
  readonly key: string;
  /** `overrun`: a run lasts too long; `missed`: no run came. Both are bad at once. */
  readonly kind: "good" | "bad" | "overrun" | "missed";
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
