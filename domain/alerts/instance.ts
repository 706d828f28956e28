/**
 * Instances: groups of a rule that are not `ok` (decisions 73 and 74).
 *
 * Runs fail, or fail checks, some times in a row: their outcomes are a window. All other kinds fire
 * while a thing is bad, such as a monitor that is down: their instances keep the things that are.
 *
 * A group that fires has deadlines: it may end without a further outcome, its message is repeated
 * (decisions 70 and 77), and its incident expires.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import {
  addOutcome,
  compareOutcomes,
  type Outcome,
  OUTCOMES_MAX,
  removeOutcome,
  resultOf,
  type Streak,
  streakAfter,
  type Thresholds,
  type Window,
} from "../outcomes/window.ts";
import { type AlertSignal, type Group, outcomeFor } from "./signal.ts";
import { type Incident, INCIDENT_RUNS_MAX, lastBadAt } from "./incident.ts";
import {
  OTHER_GROUP,
  type Rule,
  type RuleCondition,
  type RuleSettings,
  type SPEND_PERIODS,
} from "./rule.ts";
import type { ResolvedBy } from "../channels/message.ts";
import { DAY_MS } from "../core/time.ts";
import type { TierLimits } from "../teams/plans.ts";

/** The state that outcomes of a group make. */
export interface GroupState extends Streak {
  /**
   * Bad outcomes since the first of those that made it fire, or are about to, or since a user
   * resolved them.
   */
  readonly count: number;
  /** Runs of these, newest first, {@link INCIDENT_RUNS_MAX} at most. */
  readonly runs: readonly RunId[];
  /** Arrival of the outcome that made it fire, or that ended it; unix milliseconds, 0 for none. */
  readonly changedAt: number;
  /** Latest bad outcome; null for none. */
  readonly last: Outcome | null;
}

/** Outcomes of a group. */
export type GroupWindow = Window<GroupState>;

const OK: GroupState = {
  ...{ isFiring: false, bads: 0, goods: 0 },
  ...{ count: 0, runs: [], changedAt: 0, last: null },
};

/** An instance as stored; one of another version of its rule counts as none. */
export interface AlertInstance extends Group {
  /** Slug of the rule. */
  readonly rule: string;
  /** Identifier of the rule; null for a default one. */
  readonly ruleId: string | null;
  /** Version of the rule. */
  readonly ruleVersion: number;
  /** Its outcomes. */
  readonly outcomes: GroupWindow;
  /** Arrival from which it has all outcomes, unix milliseconds. */
  readonly knownFrom: number;
  /** Its incident; null for none. */
  readonly incident: string | null;
  /** Time of its row in the work queue, unix milliseconds; null for none. */
  readonly dueAt: number | null;
  /** True if a commit was full, so that the clock is to change the incident. */
  readonly isPending: boolean;
}

/** Returns an instance without outcomes. */
export function newInstance({ slug, id, version }: Rule, group: Group): AlertInstance {
  return {
    ...group,
    rule: slug,
    ruleId: id,
    ruleVersion: version,
    outcomes: { base: { ...OK, at: 0, key: "" }, kept: [] },
    knownFrom: Infinity,
    incident: null,
    dueAt: null,
    isPending: false,
  };
}

/** Returns whether an instance is of the current version of a rule, which is enabled. */
export function isOfRule({ ruleId, ruleVersion }: AlertInstance, rule: Rule | null): boolean {
  return rule !== null && rule.settings.enabled && rule.id === ruleId &&
    rule.version === ruleVersion;
}

/** Returns whether an instance is one of the groups that fire: it has an incident, or waits for it. */
export function hasPlace({ incident, isPending }: AlertInstance): boolean {
  return incident !== null || isPending;
}

/** Returns the state that the outcomes of an instance make. */
export function stateOf({ outcomes, text }: AlertInstance, { settings }: Rule): GroupState {
  const thresholds = limitsOf(text, settings);
  if (thresholds !== null) return resultOf(outcomes, stepOf(thresholds));
  const { base, kept } = outcomes;
  return { ...base, isFiring: kept.length > 0, runs: kept.reduce(withRun, base.runs) };
}

/** Returns the thresholds of a rule; null for a kind that fires while a thing is bad. */
export function thresholdsOf(
  { condition, resolveAfter }: Pick<RuleSettings, "condition" | "resolveAfter">,
): Thresholds | null {
  if (condition.kind !== "run_failed" && condition.kind !== "check_failed") return null;
  return { consecutive: condition.consecutive, resolveAfter };
}

/** Returns the thresholds of a group; groups that share one fire from the first bad outcome on. */
function limitsOf(text: string, settings: RuleSettings): Thresholds | null {
  return text === OTHER_GROUP ? null : thresholdsOf(settings);
}

/**
 * Returns whether an instance is to be stored: it fires, or a bad outcome is among the last
 * `consecutive` ones. Later outcomes alone cannot make a group fire that needs no row.
 */
export function isStored(instance: AlertInstance, rule: Rule): boolean {
  if (hasPlace(instance)) return true;
  const { isFiring, bads, goods } = stateOf(instance, rule);
  const thresholds = limitsOf(instance.text, rule.settings);
  if (isFiring || thresholds === null) return isFiring;
  const hasBad = instance.outcomes.kept.some(({ kind }) => kind === "bad");
  return bads > 0 || hasBad && goods < thresholds.consecutive;
}

/** Returns an instance that counts a signal. */
export function withSignal(
  instance: AlertInstance,
  rule: Rule,
  signal: AlertSignal,
): AlertInstance {
  const outcomes = outcomesWith(instance, rule, signal);
  return outcomes === instance.outcomes ? instance : { ...instance, outcomes };
}

function outcomesWith(
  { outcomes, text }: AlertInstance,
  rule: Rule,
  signal: AlertSignal,
): GroupWindow {
  const { at, key, run, value, words } = signal;
  const thresholds = limitsOf(text, rule.settings);
  const kind = outcomeFor(rule, signal);
  if (kind === "none") return removeOutcome(outcomes, key);
  const detail = words === undefined ? signal.detail : words;
  const outcome: Outcome = { at, key, kind: kindOf(signal, kind), run, value, detail };
  if (thresholds !== null) {
    const isKnown = kind === "resolved" &&
      outcomes.kept.some((known) => known.kind === kind && known.at >= at);
    return isKnown ? outcomes : addOutcome(outcomes, outcome, stepOf(thresholds));
  }
  if (kind === "resolved") return { ...outcomes, base: { ...outcomes.base, count: 0 } };
  if (kind === "bad") return withBad(outcomes, outcome);
  // A monitor that is up again says nothing about the others of its group.
  return withGood(outcomes, outcome, signal.kind !== "missed");
}

function kindOf({ kind, detail }: AlertSignal, outcome: AlertSignal["outcome"]): Outcome["kind"] {
  if (outcome !== "bad") return outcome === "resolved" ? outcome : "good";
  return kind === "missed" && (detail === "missed" || detail === "overrun") ? detail : "bad";
}

/** Returns outcomes with a thing that is bad. It counts once while it is, and for each of its runs. */
function withBad({ base, kept }: GroupWindow, outcome: Outcome): GroupWindow {
  const others = kept.filter(({ key }) => key !== outcome.key);
  const known = kept.find(({ key }) => key === outcome.key);
  const isKnownRun = outcome.run === null || kept.reduce(withRun, base.runs).includes(outcome.run);
  const isNew = known === undefined || !isKnownRun;
  const started = kept.length === 0 ? { ...base, count: 0, runs: [] } : base;
  const before = known === undefined ? started : { ...base, runs: withRun(base.runs, known) };
  const isLast = before.last === null || compareOutcomes(before.last, outcome) <= 0;
  const last = isLast ? outcome : before.last;
  return {
    base: {
      ...before,
      count: before.count + (isNew ? 1 : 0),
      changedAt: before.count === 0 ? outcome.at : before.changedAt,
      last,
    },
    kept: [...others, outcome].sort(compareOutcomes).slice(-OUTCOMES_MAX),
  };
}

/**
 * Returns outcomes after a thing is good again.
 *
 * @param isAll true if a key that is not kept stands for all of them
 */
function withGood({ base, kept }: GroupWindow, good: Outcome, isAll: boolean): GroupWindow {
  const isKnown = kept.some(({ key }) => key === good.key);
  const isOver = ({ at, key }: Outcome) => isKnown ? key === good.key : isAll && at <= good.at;
  const rest = kept.filter((outcome) => !isOver(outcome));
  const runs = kept.filter(isOver).reduce(withRun, base.runs);
  const changedAt = rest.length === 0 ? good.at : base.changedAt;
  return { base: { ...base, runs, changedAt }, kept: rest };
}

function stepOf(thresholds: Thresholds) {
  return (before: GroupState, outcome: Outcome): GroupState => {
    if (outcome.kind === "resolved") return { ...before, count: 0, runs: [] };
    const streak = streakAfter(before, outcome, thresholds);
    const { isFiring } = streak;
    const isChanged = before.isFiring !== isFiring;
    if (outcome.kind === "good") {
      const changedAt = isChanged ? outcome.at : before.changedAt;
      return { ...isFiring ? before : { ...OK, last: before.last }, ...streak, changedAt };
    }
    const isFirst = isChanged || isFiring && before.count === 0;
    const changedAt = isFirst ? outcome.at : before.changedAt;
    const runs = withRun(before.runs, outcome);
    return { ...streak, count: before.count + 1, runs, changedAt, last: outcome };
  };
}

function withRun(runs: readonly RunId[], { run }: Outcome): readonly RunId[] {
  if (run === null) return runs;
  return [run, ...runs.filter((other) => other !== run)].slice(0, INCIDENT_RUNS_MAX);
}

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
 * Returns when a group ends by time alone; null if only an outcome or an evaluation ends it.
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
    // An evaluation of the end of the budget's period ends it.
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
 * Returns when to evaluate a group that fires, unix milliseconds; null for never.
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
 * Longest time from one evaluation of an incident to the next, milliseconds: a plan may keep data for a
 * shorter time than the one before.
 */
const REVIEW_MS_MAX = 7 * DAY_MS;

/** Shortest such time while something is due that the clock of the sweep has not reached yet. */
const REVIEW_MS_MIN = DAY_MS / 2;

/** The next due work of an incident. */
export interface IncidentExpiry {
  /** The error is removed, or all of the incident; null for nothing. */
  readonly due: "error" | "all" | null;
  /** Time of the next evaluation, unix milliseconds. */
  readonly nextAt: number;
}

/** Returns when to evaluate a new incident first, unix milliseconds. */
export function firstReviewAt(openedAt: number): number {
  return openedAt + REVIEW_MS_MAX;
}

/**
 * Returns what of an incident has expired.
 *
 * @param nowMs time of the evaluation, unix milliseconds
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
  const nextAt = Math.min(...left.map((at) => at + 1), nowMs + REVIEW_MS_MAX);
  return { due, nextAt: Math.max(nextAt, nowMs + (nextAt > nowMs ? 0 : REVIEW_MS_MIN)) };
}
