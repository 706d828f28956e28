/**
 * Messages about incidents, as sent to channels of all types.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";

/** Severities of incidents, the worst first. */
export const SEVERITIES = ["critical", "warning", "info"] as const;

/** One of {@link SEVERITIES}. */
export type Severity = typeof SEVERITIES[number];

/** Events that messages are about. */
export const MESSAGE_EVENTS = [
  "incident.opened",
  "incident.updated",
  "incident.acknowledged",
  "incident.resolved",
  "channel.test",
] as const;

/** One of {@link MESSAGE_EVENTS}. `incident.updated` repeats an open incident (decision 77). */
export type MessageEvent = typeof MESSAGE_EVENTS[number];

/** The group of an incident: at most one name, and none for a rule without groups. */
export interface IncidentGroup {
  /** Agent's slug. */
  readonly agent?: string;
  /** Customer's id. */
  readonly customer?: string;
  /** Feature. */
  readonly feature?: string;
  /** Model, as `provider/model`. */
  readonly model?: string;
  /** Slug of a budget. */
  readonly budget?: string;
}

/** States of an incident. */
export const INCIDENT_STATES = ["open", "acknowledged", "resolved"] as const;

/** One of {@link INCIDENT_STATES}. */
export type IncidentState = typeof INCIDENT_STATES[number];

/** Causes that resolve an incident. */
export const RESOLVED_BY = ["condition", "quiet", "hand", "rule", "paused"] as const;

/**
 * One of {@link RESOLVED_BY}: `quiet`: nothing happened for a day; `hand`: a user; `rule`: it was
 * changed, disabled or deleted; `paused`: the monitor was.
 */
export type ResolvedBy = typeof RESOLVED_BY[number];

/** An acknowledgement of an incident. */
export interface Acknowledgement {
  /** Identifier of the credential. */
  readonly by: string;
  /** Time, unix milliseconds. */
  readonly at: number;
  /** Words of the user; null for none. */
  readonly note: string | null;
}

/** The incident of a message, at the time of the event. */
export interface IncidentFacts {
  /** Identifier, `inc_…`. */
  readonly id: string;
  /** Slug of the rule. */
  readonly rule: string;
  /** Kind of the rule, such as `run_failed`. */
  readonly kind: string;
  /** Severity of the rule. */
  readonly severity: Severity;
  /** State. */
  readonly state: IncidentState;
  /** Group. */
  readonly group: IncidentGroup;
  /** Time of the outcome that opened it, unix milliseconds. */
  readonly openedAt: number;
  /** Time of the outcome that resolved it, unix milliseconds; null while it is open. */
  readonly resolvedAt: number | null;
  /** The cause that resolved it; null while it is open. */
  readonly resolvedBy: ResolvedBy | null;
  /** Number of bad outcomes so far. */
  readonly count: number;
  /** Measured value of the last bad outcome, such as dollars or seconds; null for none. */
  readonly value: number | null;
  /** Value of the rule that it is compared with; null for none. */
  readonly threshold: number | null;
  /** One sentence for people, without text of a run's error. */
  readonly title: string;
  /** First 200 characters of the latest run's error; null without one, or once it has expired. */
  readonly error: string | null;
  /** Newest runs, newest first, 20 at most. */
  readonly runs: readonly RunId[];
  /** True if a silence mutes it. */
  readonly isSilenced: boolean;
  /** The acknowledgement; null for none. */
  readonly acknowledged: Acknowledgement | null;
}

/** A message to one channel. */
export interface Message {
  /** Event. */
  readonly event: MessageEvent;
  /** Time of the event, unix milliseconds. */
  readonly at: number;
  /** The incident; null for a test. */
  readonly incident: IncidentFacts | null;
  /** Bad outcomes since the message before; of `incident.updated` alone (decision 77). */
  readonly countSince?: number;
}
