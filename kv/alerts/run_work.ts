/**
 * Work of changed runs for alerts: their signals, and the rows at which the loop looks at rules that
 * no outcome of a run reports.
 *
 * @module
 */
import { type AlertSignal, groupName, groupOf, matches } from "../../domain/alerts/group.ts";
import type { AlertConfig } from "../../domain/alerts/transition.ts";
import type { BudgetLabels } from "../../domain/budgets/verdict.ts";
import type { Rule, TeamCounts } from "../../domain/alerts/rule.ts";
import {
  checkSignals,
  closeOutcomeOf,
  closeSignals,
  costSignals,
  isSameSubject,
  type RunChange,
  subjectOf,
  unpricedSignals,
} from "../../domain/alerts/signal.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { CheckResult, ResultsChange } from "../../domain/runs/check_result.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import type { PreparedConfig } from "../config/prepared.ts";
import { workSet } from "../work/store.ts";
import type { RunUpdate } from "../runs/heads.ts";
import { budgetLook, TOTAL } from "./find_budgets.ts";
import { keyText, type KvSet } from "../writer/group.ts";

/** Milliseconds within which changes of a group's spend share a look. */
const SPEND_STEP_MS = 2_000;

/** Shortest and longest time within which runs that may be stuck share a look, milliseconds. */
const STUCK_STEP_MS = { min: 60_000, max: 3_600_000 } as const;

/** Part of the limit of a rule within which they do. */
const STUCK_STEP_PART = 1 / 24;

/** Results of checks that a commit changes, by run. */
type ChangedResults = ReadonlyMap<RunId, ResultsChange>;

/**
 * Returns the signals of changed runs. Good ones are left out if no instance can count them, unless
 * one of them replaces another.
 */
export function runSignals(
  config: AlertConfig,
  counts: TeamCounts,
  updates: readonly RunUpdate[],
  results: ChangedResults,
): AlertSignal[] {
  return [
    ...endSignals(config, counts, updates),
    ...judgedSignals(config, counts, updates, results),
  ];
}

/** Returns the signals of how runs ended, what they cost, and of models without a price. */
function endSignals(
  { byKind }: AlertConfig,
  counts: TeamCounts,
  updates: readonly RunUpdate[],
): AlertSignal[] {
  const failed = byKind.get("run_failed") ?? [];
  const cost = byKind.get("run_cost") ?? [];
  const isUnpriced = byKind.has("unpriced");
  const hasInstances = failed.some(({ slug }) => counts[slug] !== undefined);
  const hasBad = failed.length > 0 && updates.some(({ after }) => closeOutcomeOf(after) === "bad");
  const wasGood = failed.length > 0 &&
    updates.some(({ before, after }) => after !== null && closeOutcomeOf(before) === "good");
  const areClosesCounted = hasBad || hasInstances || wasGood;
  const signals: AlertSignal[] = [];
  for (const update of updates) {
    const { after } = update;
    if (after === null) continue;
    const hasModels = (after.contribution?.models.length ?? 0) > 0;
    if (!areClosesCounted && cost.length === 0 && !(isUnpriced && hasModels)) continue;
    const change = changeOf(update);
    if (areClosesCounted) signals.push(...closeSignals(change));
    if (cost.length > 0) signals.push(...costSignals(change, cost));
    if (isUnpriced && hasModels) signals.push(...unpricedSignals(change));
  }
  return signals;
}

/** Returns the signals of what checks said. */
function judgedSignals(
  { byKind }: AlertConfig,
  counts: TeamCounts,
  updates: readonly RunUpdate[],
  results: ChangedResults,
): AlertSignal[] {
  const rules = byKind.get("check_failed") ?? [];
  if (rules.length === 0 || results.size === 0) return [];
  const hasInstances = rules.some(({ slug }) => counts[slug] !== undefined);
  const isCounted = hasInstances ||
    results.values().some(({ before, after }) => before !== null || after?.some(isNotPassed));
  if (!isCounted) return [];
  return updates.flatMap((update) => {
    const changed = results.get(update.run.id);
    return changed === undefined ? [] : checkSignals(changeOf(update), changed, rules);
  });
}

function isNotPassed({ status }: CheckResult): boolean {
  return status === "fail" || status === "error";
}

function changeOf({ run: { id, ledger }, before, after }: RunUpdate): RunChange {
  return { id, before, after, latestAt: ledger.latestAt };
}

/**
 * Returns the rows at which the loop looks at the spend of changed groups, and at runs that were
 * opened. Rows that come too early are harmless.
 *
 * @param isFiled returns whether this process has filed a row that is not due yet
 */
export function runLookSets(
  team: TeamId,
  { byKind, budgetLabels }: Pick<PreparedConfig, "byKind" | "budgetLabels">,
  updates: readonly RunUpdate[],
  nowMs: number,
  isFiled: (key: Deno.KvKey) => boolean,
): KvSet[] {
  const sets = new Map<string, KvSet>();
  const file = (name: string, at: number, isAgain = false) => {
    const set = workSet({ at, kind: "rule", team, name });
    if (isAgain || !isFiled(set.key)) sets.set(keyText(set.key), set);
  };
  // The look at an earlier row may be over when this is stored.
  const spendAt = (Math.floor(nowMs / SPEND_STEP_MS) + 1) * SPEND_STEP_MS;
  for (const rule of byKind.get("spend") ?? []) {
    for (const name of spendLooks(rule, updates)) file(name, spendAt, true);
  }
  const budgetNames = byKind.has("budget") ? budgetLooks(budgetLabels, updates) : [];
  for (const rule of byKind.get("budget") ?? []) {
    for (const name of budgetNames) file(groupName(rule.slug, name), spendAt, true);
  }
  for (const rule of byKind.get("stuck") ?? []) {
    // Runs that are opened together share a few instants.
    const instants = new Set(updates.map(({ before, after }) => stuckAt(rule, before, after)));
    for (const at of instants) if (at !== null) file(rule.slug, at);
  }
  return [...sets.values()];
}

/**
 * Returns the names of looks at groups whose spend changed. All models share a look: it reads the
 * spend of all models, and a run has many.
 */
function spendLooks({ slug, settings }: Rule, updates: readonly RunUpdate[]): Set<string> {
  const names = new Set<string>();
  const add = (summary: RunSummary) => {
    const subject = subjectOf(summary);
    if (!matches(settings, subject)) return;
    const isModel = settings.groupBy === "model";
    names.add(isModel ? slug : groupName(slug, groupOf(settings.groupBy, subject).text));
  };
  for (const { before, after } of updates) {
    const [old, now] = [before?.contribution?.cost ?? 0n, after?.contribution?.cost ?? 0n];
    if (old === now) continue;
    if (before !== null && old > 0n) add(before);
    if (after !== null && now > 0n) add(after);
  }
  return names;
}

/** Returns the names of looks at the groups of budgets whose spend may have grown. */
function budgetLooks(labels: BudgetLabels, updates: readonly RunUpdate[]): ReadonlySet<string> {
  const names = new Set<string>();
  if (labels.size === 0) return names;
  for (const { before, after } of updates) {
    const cost = after?.contribution?.cost ?? 0n;
    if (after === null || cost === 0n) continue;
    if (before?.contribution?.cost === cost && isSameSubject(before, after)) continue;
    const subject = subjectOf(after);
    for (const [label, only] of labels) {
      if (label === TOTAL) names.add(label);
      else {
        const name = subject[label];
        if (name !== null && only?.has(name) !== false) names.add(budgetLook(label, subject));
      }
    }
  }
  return names;
}

/** Returns when a run that was opened may be stuck, unix milliseconds; null for none. */
function stuckAt(
  { settings }: Rule,
  before: RunSummary | null,
  after: RunSummary | null,
): number | null {
  const { condition } = settings;
  if (condition.kind !== "stuck" || after === null || !isOpen(after) || isOpen(before)) return null;
  if (!matches(settings, subjectOf(after))) return null;
  const limitMs = condition.seconds * 1_000;
  const step = Math.min(
    STUCK_STEP_MS.max,
    Math.max(STUCK_STEP_MS.min, Math.floor(limitMs * STUCK_STEP_PART)),
  );
  // A look that comes too early files the next one for the first run that may be stuck.
  return Math.floor(((after.shown.openedAt ?? 0) + limitMs) / step) * step;
}

function isOpen(summary: RunSummary | null): boolean {
  return summary?.contribution?.labels.status === "running";
}
