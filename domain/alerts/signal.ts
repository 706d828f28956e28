/**
 * Signals: what alert rules are judged by.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { MadeBy } from "../teams/team.ts";
import type { RuleKind } from "./rule.ts";

/** The subject of a signal; rules match it and group by it. */
export interface SignalSubject {
  /** Agent's slug; null for none. */
  readonly agent: string | null;
  /** Customer's id; null for none. */
  readonly customer: string | null;
  /** Feature; null for none. */
  readonly feature: string | null;
  /** Model, as `provider/model`; null for none. */
  readonly model: string | null;
  /** True for a run that another run started; absent for all else. */
  readonly isChild?: true;
}

/** The subject of what is about the team. */
export const TEAM: SignalSubject = { agent: null, customer: null, feature: null, model: null };

/**
 * One outcome for the rules of a kind. A later signal with the same key replaces it, so repeats and
 * new revisions of a run count once.
 */
export interface AlertSignal {
  /** Kind of the rules. */
  readonly kind: RuleKind;
  /** Slug of the only rule that it is for; null for all of the kind. */
  readonly rule: string | null;
  /** Subject. */
  readonly subject: SignalSubject;
  /** Identity within its group, such as the run's id. */
  readonly key: string;
  /** Arrival of what it reports, unix milliseconds. */
  readonly at: number;
  /**
   * `bad`: the condition is true; `good`: it is false; `none`: neither, which removes an earlier
   * outcome of the key; `paused`: as good, and resolves at once.
   */
  readonly outcome: "bad" | "good" | "none" | "paused";
  /** The run that it is about; null for none. */
  readonly run: RunId | null;
  /** Measured value, such as dollars or seconds; null for none. */
  readonly value: number | null;
  /** Word that rules select by, such as `missed`, or words about it; null for none. */
  readonly detail: string | null;
  /** Words for the title instead of `detail`; absent for none. */
  readonly words?: string | null;
  /** First 200 characters of the run's error; null for none. */
  readonly error: string | null;
}

/** Returns a signal for all rules of a kind, about the team unless it says otherwise. */
export function newSignal(
  signal: Pick<AlertSignal, "kind" | "key" | "at" | "outcome"> & Partial<AlertSignal>,
): AlertSignal {
  return {
    rule: null,
    subject: TEAM,
    run: null,
    value: null,
    detail: null,
    error: null,
    ...signal,
  };
}

/** A group of a rule that the work loop looks at, because a row of the work queue is due. */
export interface AlertLook {
  /** Slug of the rule. */
  readonly rule: string;
  /** Text of the group; see `group.ts`. */
  readonly group: string;
  /** Time of the row, unix milliseconds; null if there is none. */
  readonly at: number | null;
}

/** A change of an incident by a user. */
export interface IncidentChange {
  /** Identifier of the incident. */
  readonly id: string;
  /** The change. */
  readonly what: "acknowledged" | "resolved";
  /** Words of the user; null for none. */
  readonly note: string | null;
  /** Its author. */
  readonly made: MadeBy;
}

/**
 * Causes of changes to a team's incidents, which the commit of the cause makes.
 *
 * A look at a group resolves its incident if the rule has changed or nothing happened for too long,
 * repeats the messages that are due, and sends those that no silence holds back any longer.
 */
export interface AlertWork {
  /** Signals, in order. */
  readonly signals: readonly AlertSignal[];
  /** Looks at groups; none when absent. */
  readonly looks?: readonly AlertLook[];
  /** Change of an incident that is not resolved; none when absent. */
  readonly byHand?: IncidentChange;
  /** Group to end with its incident, whatever its outcomes; none when absent. */
  readonly ends?: Pick<AlertLook, "rule" | "group">;
}
