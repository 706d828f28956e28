/**
 * Previews of rules: the incidents that a rule would have opened in the last days.
 *
 * @module
 */
import type { RunId } from "../core/ids.ts";
import { compareOutcomes, type Streak, streakAfter } from "../outcomes/window.ts";
import type { CheckResult } from "../runs/check_result.ts";
import { closeArrivalOf, type RunSummary } from "../runs/summary.ts";
import { endOf, thresholdsOf } from "./instance.ts";
import {
  type AlertSignal,
  closeSignals,
  groupOf,
  isImported,
  matches,
  newSignal,
  outcomeFor,
  subjectOf,
} from "./signal.ts";
import type { Rule, RuleSettings } from "./rule.ts";
import { costSignals, resultSignals, unpricedSignals } from "./signal_sources.ts";

/** Days that a preview goes back, and the maximum of its outcomes and its milliseconds. */
export const PREVIEW = { days: 14, outcomesMax: 20_000, msMax: 1_000 } as const;

/** Result of a preview. */
export interface RulePreview {
  /** Number of incidents that the rule would have opened. */
  readonly opened: number;
  /** Begin of the time that was counted, unix milliseconds. */
  readonly fromMs: number;
  /** True if a maximum ended it before {@link PREVIEW.days} days were counted. */
  readonly isCut: boolean;
}

/** Returns a rule that is not stored. */
export function unstoredRule(settings: RuleSettings): Rule {
  const enabled = { ...settings, enabled: true };
  const made = { createdAt: 0, updatedAt: 0, updatedBy: null };
  return { slug: "", id: null, version: 0, settings: enabled, ...made };
}

/** State of a group: outcomes in a row, or the things that are bad now. */
interface PreviewGroup {
  streak: Streak;
  readonly bad: Set<string>;
  lastBadAt: number;
}

/**
 * Returns the number of incidents that signals open in the order of their arrival. The real rule opens
 * fewer where many runs are processed at once, and beyond the maximum of its groups.
 */
export function countOpened(rule: Rule, signals: readonly AlertSignal[]): number {
  const { condition, groupBy } = rule.settings;
  const thresholds = thresholdsOf(rule.settings);
  const groups = new Map<string, PreviewGroup>();
  let opened = 0;
  for (const signal of signals.toSorted(compareOutcomes)) {
    const outcome = outcomeFor(rule, signal);
    if (!matches(rule.settings, signal.subject)) continue;
    const { text } = groupOf(groupBy, signal.subject);
    const group = groups.get(text) ?? { streak: CALM, bad: new Set(), lastBadAt: 0 };
    groups.set(text, group);
    if (thresholds !== null) {
      if (outcome === "none") continue;
      const before = group.streak;
      const kind = outcome === "bad" ? "bad" : "good";
      group.streak = streakAfter(before, { kind }, thresholds);
      if (!before.isFiring && group.streak.isFiring) opened++;
      continue;
    }
    const endAt = endOf(condition, group.lastBadAt)?.at ?? Infinity;
    if (endAt <= signal.at) group.bad.clear();
    if (outcome !== "bad") {
      group.bad.delete(signal.key);
      continue;
    }
    if (group.bad.size === 0) opened++;
    group.bad.add(signal.key);
    group.lastBadAt = signal.at;
  }
  return opened;
}

const CALM: Streak = { isFiring: false, bads: 0, goods: 0 };

/**
 * Returns what a stored run means for a rule; null for a kind that is not about runs.
 *
 * @param results results of its checks; null for none
 */
export function runSignals(
  rule: Rule,
  id: RunId,
  summary: RunSummary,
  results: readonly CheckResult[] | null,
  nowMs: number,
): readonly AlertSignal[] | null {
  const change = { id, before: null, after: summary, latestAt: null };
  const { condition } = rule.settings;
  switch (condition.kind) {
    case "run_failed":
      return closeSignals(change);
    case "check_failed":
      return resultSignals(id, summary, results, [rule]);
    case "run_cost":
      return costSignals(change, [rule]);
    case "unpriced":
      return unpricedSignals(change);
    case "stuck":
      return stuckSignals(id, summary, condition.seconds, nowMs);
    default:
      return null;
  }
}

/** Returns the signals of a run that was open for too long: when it was, and when it was closed. */
function stuckSignals(
  id: RunId,
  summary: RunSummary,
  seconds: number,
  nowMs: number,
): readonly AlertSignal[] {
  const { times, shown: { finishedAt } } = summary;
  if (times === null || isImported(summary)) return [];
  const stuckAt = times.startedAt + seconds * 1_000;
  const closedAt = finishedAt === null ? null : closeArrivalOf(summary);
  if (stuckAt >= (closedAt ?? nowMs)) return [];
  const signal = { kind: "stuck", key: id, run: id, subject: subjectOf(summary) } as const;
  const bad = newSignal({ ...signal, at: stuckAt, outcome: "bad" });
  return closedAt === null ? [bad] : [bad, newSignal({ ...signal, at: closedAt, outcome: "good" })];
}
