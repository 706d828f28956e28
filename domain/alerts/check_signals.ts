/**
 * Signals of checks: what a run's results mean for rules of the kind `check_failed`.
 *
 * @module
 */
import { TEXT_CHARS_MAX } from "../channels/forms/words.ts";
import type { RunId } from "../core/ids.ts";
import { cutText, printable } from "../core/text.ts";
import {
  CHECK_SEVERITIES,
  type CheckResult,
  type CheckSeverity,
  type ResultsChange,
} from "../runs/check_result.ts";
import type { RunSummary } from "../runs/summary.ts";
import { matches } from "./match.ts";
import { type Rule, type RuleCondition, RULES_PER_SIGNAL_MAX } from "./rule.ts";
import { isImported, isSameSubject, type RunChange, signalOf, subjectOf } from "./run_signals.ts";
import type { AlertSignal } from "./signal.ts";

/** Maximum checks that a signal names. */
const NAMES_MAX = 3;

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
  const isMoved = before === null || !isSameSubject(before, after);
  const known = new Map(old.map((signal) => [signal.rule, signal]));
  const left = new Map(now.map((signal) => [signal.rule, signal]));
  return [
    ...old.filter(({ rule }) => isMoved || !left.has(rule)).map(withdrawn),
    ...now.filter((signal) => isMoved || !isSame(known.get(signal.rule), signal)),
  ];
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
  const matching = rules.filter(({ settings }) => matches(settings.match, subject))
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
  const names = failed.slice(0, NAMES_MAX).map(({ check }) => check).join(", ");
  const more = failed.length - NAMES_MAX;
  const message = failed[0]?.message ?? null;
  return {
    detail: more > 0 ? `${names} and ${more} more` : names,
    error: message === null ? null : cutText(printable(message), TEXT_CHARS_MAX.error),
  };
}

function withdrawn(signal: AlertSignal): AlertSignal {
  return { ...signal, outcome: "none", detail: null, error: null };
}

function isSame(known: AlertSignal | undefined, { outcome, at, detail }: AlertSignal): boolean {
  return known?.outcome === outcome && known.at === at && known.detail === detail;
}
