/**
 * Stored form of monitors: a text, because 32 outcomes as objects take twice as long to write and to
 * read, and a shorter one, because a row of several pages costs several reads.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import { missedOutcome, type Monitor, runOutcome } from "../../domain/monitors/row.ts";
import type { Outcome } from "../../domain/outcomes/window.ts";

/** Kind of the outcome of a run. */
type RunKind = "good" | "bad" | "overrun";

/** A stored outcome; one without a run is a missed deadline. */
type Packed = readonly [at: number] | readonly [at: number, kind: RunKind, run: RunId];

/** Encodes a monitor. */
export function encodeMonitor(monitor: Monitor): string {
  const { base, kept } = monitor.outcomes;
  return JSON.stringify({ ...monitor, outcomes: { base, kept: kept.map(packed) } });
}

/** Decodes the value of a monitor's row; null for none. */
export function decodeMonitor(value: unknown): Monitor | null {
  if (typeof value !== "string") return null;
  const { outcomes, ...monitor } = JSON.parse(value);
  return { ...monitor, outcomes: { ...outcomes, kept: outcomes.kept.map(unpacked) } };
}

/** The other members of an outcome follow from these. */
function packed({ at, kind, run }: Outcome): Packed {
  return run === null ? [at] : [at, kind as RunKind, run];
}

function unpacked(outcome: Packed): Outcome {
  if (outcome.length === 1) return missedOutcome(outcome[0]);
  const [at, kind, run] = outcome;
  return runOutcome(kind, run, at);
}
