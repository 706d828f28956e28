/**
 * Deadlines of a group that fires: when it ends without a further outcome, when its message is
 * repeated (decisions 70 and 77), when its incident expires, and the work that waits for them.
 *
 * @module
 */
import type { ResolvedBy } from "../channels/message.ts";
import type { Incident } from "./incident.ts";
import {
  OTHER_GROUP,
  type Rule,
  RULE_KINDS,
  type RuleCondition,
  type RuleKind,
  type RuleSettings,
  type SPEND_PERIODS,
} from "./rule.ts";
import { DAY_MS } from "../core/time.ts";
import { type AlertInstance, stateOf } from "./instance.ts";
import type { TierLimits } from "../teams/plans.ts";
import { lastBadAt } from "./erasure.ts";

/** Milliseconds without a bad outcome after which a group ends in which no outcome is good. */
export const QUIET_MS: number = DAY_MS;

/** Milliseconds without a call after which a model without a price is no longer reported. */
export const UNPRICED_QUIET_MS: number = 7 * DAY_MS;

/** End of a group that fires. */
export interface AlertEnd {
  /** Time, unix milliseconds. */
  readonly at: number;
  /** Reason. */
  readonly by: ResolvedBy;
}

/**
 * Returns when a group ends by time alone; null if only an outcome or a look ends it.
 *
 * @param lastBadAt time of its latest bad outcome, unix milliseconds
 */
export function endOf(condition: RuleCondition, lastBadAt: number): AlertEnd | null {
  switch (condition.kind) {
    case "run_cost":
      return { at: lastBadAt + QUIET_MS, by: "quiet" };
    case "spend":
      return { at: spendPeriodOf(condition.period, lastBadAt).endMs, by: "condition" };
    case "quota":
      return { at: spendPeriodOf("month", lastBadAt).endMs, by: "condition" };
    case "unpriced":
      return { at: lastBadAt + UNPRICED_QUIET_MS, by: "quiet" };
    case "run_failed":
    case "check_failed":
    case "missed":
    case "stuck":
    case "service":
    // A look at the end of the budget's period ends it.
    case "budget":
      return null;
    default:
      return condition satisfies never;
  }
}

/** Returns when the message is repeated if nothing changes, unix milliseconds; null for never. */
export function repeatDueAt(
  { renotifySeconds }: Pick<RuleSettings, "renotifySeconds">,
  { notifiedAt, state }: Pick<Incident, "notifiedAt" | "state">,
): number | null {
  const isRepeated = renotifySeconds > 0 && notifiedAt !== null && state === "open";
  return isRepeated ? notifiedAt + renotifySeconds * 1_000 : null;
}

/** Days from a Monday to the first day of unix time, a Thursday. */
const MONDAY_TO_EPOCH_DAYS = 3;

/** Span of a period, unix milliseconds. */
export interface SpendPeriod {
  /** Begin, inclusive. */
  readonly startMs: number;
  /** End, exclusive. */
  readonly endMs: number;
}

/** Returns the period that an instant is in. */
export function spendPeriodOf(period: typeof SPEND_PERIODS[number], atMs: number): SpendPeriod {
  if (period === "month") {
    const date = new Date(atMs);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) };
  }
  const day = Math.floor(atMs / DAY_MS);
  const [days, offset] = period === "week" ? [7, MONDAY_TO_EPOCH_DAYS] : [1, 0];
  const first = Math.floor((day + offset) / days) * days - offset;
  return { startMs: first * DAY_MS, endMs: (first + days) * DAY_MS };
}

/** Returns when a group that fires ends by time alone; null for never. */
export function groupEndOf(rule: Rule, instance: AlertInstance): AlertEnd | null {
  const { isFiring, last } = stateOf(instance, rule);
  if (!isFiring || last === null) return null;
  // No outcome of the groups that share one is good.
  if (instance.text === OTHER_GROUP) return { at: last.at + QUIET_MS, by: "quiet" };
  return endOf(rule.settings.condition, last.at);
}

/**
 * Returns when to look at a group that fires, unix milliseconds; null for never.
 *
 * @param incident its incident; null for none
 */
export function groupDueAt(
  rule: Rule,
  instance: AlertInstance,
  incident: Incident | null,
  nowMs: number,
): number | null {
  const end = groupEndOf(rule, instance)?.at ?? null;
  const repeat = incident === null ? null : repeatDueAt(rule.settings, incident);
  // One that is due was held back by a silence.
  const next = repeat !== null && repeat <= nowMs
    ? nowMs + rule.settings.renotifySeconds * 1_000
    : repeat;
  const all = [end, next].filter((at) => at !== null);
  return all.length === 0 ? null : Math.max(nowMs + 1, Math.min(...all));
}

/**
 * Longest time from one look at an incident to the next, milliseconds: a plan may keep data for a
 * shorter time than the one before.
 */
const LOOK_MS_MAX = 7 * DAY_MS;

/** Shortest such time while something is due that the clock of the sweep has not reached yet. */
const LOOK_MS_MIN = DAY_MS / 2;

/** The next due work of an incident. */
export interface IncidentExpiry {
  /** The error is removed, or all of the incident; null for nothing. */
  readonly due: "error" | "all" | null;
  /** Time of the next look, unix milliseconds. */
  readonly nextAt: number;
}

/** Returns when to look at a new incident first, unix milliseconds. */
export function firstIncidentLookAt(openedAt: number): number {
  return openedAt + LOOK_MS_MAX;
}

/**
 * Returns what of an incident has expired.
 *
 * @param nowMs time of the look, unix milliseconds
 * @param judgedMs time that ages are judged by: that of the sweep, which a wrong clock moves little
 */
export function expiryOf(
  incident: Pick<Incident, "openedAt" | "resolvedAt" | "timeline" | "error">,
  { payloadDays, recordDays }: Pick<TierLimits, "payloadDays" | "recordDays">,
  nowMs: number,
  judgedMs: number,
): IncidentExpiry {
  const { resolvedAt, error } = incident;
  const errorUntil = error === null ? Infinity : lastBadAt(incident) + payloadDays * DAY_MS;
  const allUntil = resolvedAt === null ? Infinity : resolvedAt + recordDays * DAY_MS;
  const due = allUntil < judgedMs ? "all" : errorUntil < judgedMs ? "error" : null;
  const left = due === "error" ? [allUntil] : [errorUntil, allUntil];
  const nextAt = Math.min(...left.map((at) => at + 1), nowMs + LOOK_MS_MAX);
  return { due, nextAt: Math.max(nextAt, nowMs + (nextAt > nowMs ? 0 : LOOK_MS_MIN)) };
}

/** The subject of a look. */
export type Look =
  /** All rules of a kind: something that they report has changed. */
  | { readonly of: "kind"; readonly kind: RuleKind }
  /** A rule, which may have been changed or deleted. */
  | { readonly of: "rule"; readonly rule: string }
  /** A rule for one of its groups, by the group's key. */
  | { readonly of: "group"; readonly rule: string; readonly group: string };

/** Begins the names of kinds; no slug begins so. */
const KIND = "*";

/** Ends the rule in the names of groups; no slug has one. */
const SEPARATOR = " ";

/** Returns the name of a look at all rules of a kind. */
export function kindLook(kind: RuleKind): string {
  return `${KIND}${kind}`;
}

/** Returns the name of a group of a rule, and of a look at it. */
export function groupName(rule: string, group: string): string {
  return `${rule}${SEPARATOR}${group}`;
}

/** Returns what a row of that name asks for; null for a kind that does not exist. */
export function lookOf(name: string): Look | null {
  if (name.startsWith(KIND)) {
    const kind = RULE_KINDS.find((kind) => kindLook(kind) === name);
    return kind === undefined ? null : { of: "kind", kind };
  }
  const at = name.indexOf(SEPARATOR);
  return at < 0
    ? { of: "rule", rule: name }
    : { of: "group", rule: name.slice(0, at), group: name.slice(at + SEPARATOR.length) };
}
