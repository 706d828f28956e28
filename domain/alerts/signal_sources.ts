/**
 * Signals of results, costs, models without a price and monitors; causes of changes to alerts.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import type { MadeBy } from "../teams/team.ts";
import { type Rule, type RuleCondition, RULES_PER_SIGNAL_MAX } from "./rule.ts";
import { minuteOf, TEXT_CHARS_MAX } from "../channels/forms/words.ts";
import { cutText, printable } from "../core/text.ts";
import { dollarsText, picodollarsOf } from "../pricing/money.ts";
import {
  CHECK_SEVERITIES,
  type CheckResult,
  type CheckSeverity,
  type ResultsChange,
} from "../runs/check_result.ts";
import { isRest, isSameModel, type ModelUsage } from "../runs/model_usage.ts";
import type { RunSummary } from "../runs/summary.ts";
import {
  type AlertSignal,
  changedSignals,
  isImported,
  isMoved,
  matches,
  newSignal,
  type RunChange,
  signalOf,
  subjectOf,
  TEAM,
} from "./signal.ts";
import type { Flip } from "../monitors/row.ts";
import type { Monitor } from "../monitors/monitor.ts";
import { scheduleWords } from "../monitors/schedule.ts";

/** A group of a rule that the work loop evaluates, because a row of the work queue is due. */
export interface DueGroup {
  /** Slug of the rule. */
  readonly rule: string;
  /** Text of the group; see `signal.ts`. */
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
 * An evaluation of a group resolves its incident if the rule has changed or nothing happened for too long,
 * repeats the messages that are due, and sends those that no silence holds back any longer.
 */
export interface AlertWork {
  /** Signals, in order. */
  readonly signals: readonly AlertSignal[];
  /** Evaluates groups; none when absent. */
  readonly dueGroups?: readonly DueGroup[];
  /** Change of an incident that is not resolved; none when absent. */
  readonly byHand?: IncidentChange;
  /** Group to end with its incident, whatever its outcomes; none when absent. */
  readonly ends?: Pick<DueGroup, "rule" | "group">;
}

/** Maximum checks that a signal names, and models without a price that one change reports. */
const CHECKS_MAX = 3, MODELS_MAX = 5;

/** Severity of a check that could not be decided. */
const ERROR_SEVERITY: CheckSeverity = "warn";

/**
 * Returns what changed results of a run mean for rules: a signal for each one whose outcome changed.
 * Removed runs give none: what they counted for stays.
 *
 * @param rules enabled rules of the kind `check_failed`, by slug
 */
export function checkSignals(
  { id, before, after }: RunChange,
  results: ResultsChange,
  rules: readonly Rule[],
): AlertSignal[] {
  if (after === null) return [];
  const old = before === null ? [] : resultSignals(id, before, results.before, rules);
  const now = resultSignals(id, after, results.after, rules);
  return changedSignals(old, now, isMoved(before, after));
}

/** Returns the signals of a run's results: one for each rule that counts them, without a change. */
export function resultSignals(
  id: RunId,
  summary: RunSummary,
  results: readonly CheckResult[] | null,
  rules: readonly Rule[],
): AlertSignal[] {
  if (results === null || results.length === 0 || isImported(summary)) return [];
  const subject = subjectOf(summary);
  const matching = rules.filter(({ settings }) => matches(settings, subject))
    .slice(0, RULES_PER_SIGNAL_MAX);
  return matching.flatMap(({ slug, settings: { condition } }): AlertSignal[] => {
    if (condition.kind !== "check_failed") return [];
    const { checks } = condition;
    const selected = results.filter(({ check }) => checks.length === 0 || checks.includes(check));
    const failed = selected.filter((result) => isBad(result, condition));
    if (failed.length === 0 && !selected.some(({ status }) => status === "pass")) return [];
    const signal = signalOf("check_failed", id, summary, failed.length > 0 ? "bad" : "good");
    return [{ ...signal, rule: slug, ...failed.length > 0 ? wordsOf(failed) : {} }];
  });
}

function isBad(
  { status, severity }: CheckResult,
  { severityMin }: Extract<RuleCondition, { kind: "check_failed" }>,
): boolean {
  if (status !== "fail" && status !== "error") return false;
  const rank = CHECK_SEVERITIES.indexOf(status === "fail" ? severity : ERROR_SEVERITY);
  return rank >= CHECK_SEVERITIES.indexOf(severityMin);
}

/** Returns the words of a bad signal: the names of checks, and the message of the first of them. */
function wordsOf(failed: readonly CheckResult[]): Pick<AlertSignal, "detail" | "error"> {
  const names = failed.slice(0, CHECKS_MAX).map(({ check }) => check).join(", ");
  const more = failed.length - CHECKS_MAX;
  const message = failed[0]?.message ?? null;
  return {
    detail: more > 0 ? `${names} and ${more} more` : names,
    error: message === null ? null : cutText(printable(message), TEXT_CHARS_MAX.error),
  };
}

/**
 * Returns the signals that the cost of a run gives rules of the kind `run_cost`: once, when it
 * passes what the rule allows.
 */
export function costSignals(change: RunChange, rules: readonly Rule[]): AlertSignal[] {
  const { id, before, after } = change;
  const cost = after?.contribution?.cost ?? 0n;
  const known = before?.contribution?.cost ?? 0n;
  if (after === null || cost === known || isImported(after)) return [];
  const subject = subjectOf(after);
  const matching = rules.filter(({ settings }) => matches(settings, subject))
    .slice(0, RULES_PER_SIGNAL_MAX);
  return matching.flatMap(({ slug, settings: { condition } }): AlertSignal[] => {
    if (condition.kind !== "run_cost") return [];
    const max = picodollarsOf(condition.usd);
    if (known > max === cost > max) return [];
    const outcome = cost > max ? "bad" : "none";
    const signal = signalOf("run_cost", id, after, outcome, arrivalOf(change));
    const value = Number(dollarsText(cost));
    return [{ ...signal, rule: slug, value }];
  });
}

/** Returns a signal for each model without a price that a run has called again. */
export function unpricedSignals(change: RunChange): AlertSignal[] {
  const { id, before, after } = change;
  const models = after?.contribution?.models ?? [];
  const known = before?.contribution?.models ?? [];
  if (after === null || models === known || isImported(after)) return [];
  const called = models.filter((line) => line.priced === false && !isRest(line) && line.calls > 0);
  return called.filter((line) => line.calls > callsOf(known, line)).slice(0, MODELS_MAX)
    .map((line) => {
      const signal = signalOf("unpriced", id, after, "bad", arrivalOf(change));
      const model = line.provider === null ? line.model : `${line.provider}/${line.model}`;
      return { ...signal, key: model, subject: { ...signal.subject, model } };
    });
}

/** Returns the latest arrival of a run, unix milliseconds. */
function arrivalOf({ after, latestAt }: RunChange): number {
  return Math.max(after?.times?.receivedAt ?? 0, latestAt ?? 0);
}

function callsOf(lines: readonly ModelUsage[], line: ModelUsage): number {
  return lines.find((one) => one.priced === false && isSameModel(one, line))?.calls ?? 0;
}

/** Returns the signals that the flips of a monitor give rules of kind `missed`. */
export function missedSignals(monitor: Monitor, flips: readonly Flip[]): AlertSignal[] {
  return flips.flatMap((flip): AlertSignal[] => {
    const { at, from, to, reason, run = null } = flip;
    if (to === "down") {
      const words = reason === "missed" ? missedWords(monitor, flip) : null;
      return [{ ...missedSignal(monitor, at, "bad"), detail: reason, run, words }];
    }
    if (from !== "down" || to === "unknown") return [];
    return [missedSignal(monitor, at, to === "paused" ? "paused" : "good")];
  });
}

/** Returns the signal of a monitor that is deleted; none if it was not down. */
export function deletedSignals(monitor: Monitor, atMs: number): AlertSignal[] {
  return monitor.state === "down" ? [missedSignal(monitor, atMs, "paused")] : [];
}

/** Says when a missed run was due, by which schedule, and when the last one arrived. */
function missedWords(
  { settings, expectedAt, lastArrivalAt }: Monitor,
  { at }: Flip,
): string | null {
  // Of a run that was missed long ago, the monitor knows only what came after.
  if (expectedAt === null || expectedAt > at) return null;
  const { schedule } = settings;
  const zone = "cron" in schedule ? ` ${schedule.tz}` : "";
  const words = scheduleWords(schedule);
  const due = `due ${minuteOf(expectedAt)} (${words.charAt(0).toLowerCase()}${
    words.slice(1)
  }${zone})`;
  return lastArrivalAt === null ? due : `${due}, last arrival ${minuteOf(lastArrivalAt)}`;
}

function missedSignal(
  { agent }: Monitor,
  at: number,
  outcome: AlertSignal["outcome"],
): AlertSignal {
  return newSignal({ kind: "missed", key: agent, at, outcome, subject: { ...TEAM, agent } });
}
