/**
 * Incidents: one trouble from its first sign to its end, with its runs and messages (decision 83).
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { IncidentFacts, ResolvedBy } from "../channels/message.ts";

/** Maximum entries of a timeline: the first and the latest are kept. */
export const TIMELINE_MAX = 200;

/** Maximum runs that an incident names: the newest. */
export const INCIDENT_RUNS_MAX = 20;

/** Maximum characters of a note. */
export const NOTE_CHARS_MAX = 500;

/** Events in the history of an incident. */
export type TimelineEntry =
  & {
    /** Time, unix milliseconds. */
    readonly at: number;
  }
  & (
    | { readonly what: "opened"; readonly count: number }
    /** One more bad outcome. */
    | { readonly what: "repeated"; readonly run: RunId | null }
    /** Messages were sent to these channels, or would have been without a silence. */
    | { readonly what: "notified" | "silenced"; readonly channels: readonly string[] }
    | { readonly what: "acknowledged"; readonly by: string; readonly note: string | null }
    | {
      readonly what: "resolved";
      readonly resolvedBy: ResolvedBy;
      readonly by: string | null;
      readonly note: string | null;
    }
    /** Entries that were left out. */
    | { readonly what: "left_out"; readonly entries: number }
  );

/** An incident as stored. */
export interface Incident extends IncidentFacts {
  /** Version of the rule that opened it. */
  readonly ruleVersion: number;
  /** Text of its group in keys; see `group.ts`. */
  readonly groupText: string;
  /** Its history, oldest first. */
  readonly timeline: readonly TimelineEntry[];
  /** Latest delivery to each channel, by slug: the next one is sent after it. */
  readonly deliveries: Readonly<Record<string, string>>;
  /** Time of the last message, unix milliseconds; null for none. */
  readonly notifiedAt: number | null;
  /** Number of bad outcomes at the last message. */
  readonly notifiedCount: number;
  /** True if a message was held back by a silence and is still to be sent (decision 78). */
  readonly isHeldBack: boolean;
}

/** Returns whether a text has the form of an incident's id. */
export function isIncidentId(text: string): boolean {
  return /^inc_(eu|us)_[0-9a-f]{32}$/.test(text);
}

/** Returns a timeline with one more entry; of too many, the first and the latest are kept. */
export function withEntry(
  timeline: readonly TimelineEntry[],
  entry: TimelineEntry,
): readonly TimelineEntry[] {
  if (timeline.length < TIMELINE_MAX) return [...timeline, entry];
  const [first, second, ...rest] = timeline;
  if (first === undefined || second === undefined) return [entry];
  const known = second.what === "left_out" ? second.entries : 0;
  // The first time, the note about what is left out needs a place of its own.
  const dropped = known === 0 ? [second, ...rest.splice(0, 1)] : rest.splice(0, 1);
  const at = dropped.at(-1)?.at ?? second.at;
  const leftOut: TimelineEntry = { at, what: "left_out", entries: known + dropped.length };
  return [first, leftOut, ...rest, entry];
}
