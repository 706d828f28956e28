/**
 * Work of changed runs for alerts: their signals, the outcomes of a group that were counted before,
 * and the rows at which the loop evaluates rules that no outcome of a run reports.
 *
 * @module
 */
import {
  type AlertSignal,
  closeOutcomeOf,
  closeSignals,
  groupName,
  groupOf,
  isSameSubject,
  matches,
  type RunChange,
  type SignalSubject,
  subjectOf,
} from "../../domain/alerts/signal.ts";
import type { AlertConfig } from "../../domain/alerts/transition.ts";
import type { BudgetLabel } from "../../domain/budgets/budget.ts";
import type { BudgetLabels } from "../../domain/budgets/verdict.ts";
import type { Rule, TeamCounts } from "../../domain/alerts/rule.ts";
import {
  checkSignals,
  costSignals,
  resultSignals,
  unpricedSignals,
} from "../../domain/alerts/signal_sources.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { CheckResult, ResultsChange } from "../../domain/runs/check_result.ts";
import { closeArrivalOf, type RunSummary } from "../../domain/runs/summary.ts";
import type { PreparedConfig } from "../config/prepared.ts";
import { workSet } from "../work/store.ts";
import { readSummaries, type RunUpdate } from "../runs/heads.ts";
import { keyText, type KvSet } from "../writer/group.ts";
import type { LateGroup } from "../../domain/alerts/decide.ts";
import { OUTCOMES_MAX } from "../../domain/outcomes/window.ts";
import { RUN_KINDS } from "../../domain/runs/cost.ts";
import { decodeResults } from "../base/codec_checks.ts";
import {
  agentPart,
  ALL_ENTRIES,
  customerPart,
  type EntryPage,
  EntryReader,
  featurePart,
  type Position,
  readEntries,
} from "../index/entries.ts";
import { keyParts, keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";

/** Name of an evaluation of the budgets of the team. */
export const TOTAL = "total";

/** Returns the name of an evaluation of the budgets of a subject's agent, customer or feature. */
export function budgetGroupName(label: BudgetLabel, subject: SignalSubject): string {
  return `${label} ${groupOf(label, subject).text}`;
}

/** Milliseconds within which changes of a group's spend share an evaluation. */
const SPEND_STEP_MS = 2_000;

/** Shortest and longest time within which runs that may be stuck share an evaluation, milliseconds. */
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
 * Returns the rows at which the loop evaluates the spend of changed groups, and at runs that were
 * opened. Rows that come too early are harmless.
 *
 * @param isFiled returns whether this process has filed a row that is not due yet
 */
export function ruleWorkSets(
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
  // The evaluation of an earlier row may be over when this is stored.
  const spendAt = (Math.floor(nowMs / SPEND_STEP_MS) + 1) * SPEND_STEP_MS;
  for (const rule of byKind.get("spend") ?? []) {
    for (const name of spendGroupNames(rule, updates)) file(name, spendAt, true);
  }
  const budgetNames = byKind.has("budget") ? budgetGroupNames(budgetLabels, updates) : [];
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
 * Returns the names of evaluations of groups whose spend changed. All models share an evaluation: it reads the
 * spend of all models, and a run has many.
 */
function spendGroupNames({ slug, settings }: Rule, updates: readonly RunUpdate[]): Set<string> {
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

/** Returns the names of evaluations of the groups of budgets whose spend may have grown. */
function budgetGroupNames(
  labels: BudgetLabels,
  updates: readonly RunUpdate[],
): ReadonlySet<string> {
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
        if (name !== null && only?.has(name) !== false) names.add(budgetGroupName(label, subject));
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
  // An evaluation that comes too early files the next one for the first run that may be stuck.
  return Math.floor(((after.shown.openedAt ?? 0) + limitMs) / step) * step;
}

function isOpen(summary: RunSummary | null): boolean {
  return summary?.contribution?.labels.status === "running";
}

/** Latest runs by start that are read of an order. */
const RUNS_MAX = 100;

/** Latest changes of the team that are read: at once, and at most. */
const CHANGES = { perRead: 50, max: 500 } as const;

/**
 * Returns the latest signals of a group, in order of the arrivals of the closes, when a bad one of an
 * earlier close arrives, or when a good one does not count any more. None if a bad outcome came and no
 * close of the group arrived after its own. While a group has no instance, they are not kept.
 *
 * Runs are found by their latest change, so also those that started long ago, and by their start.
 *
 * @param excluded runs that are changing
 */
export async function earlierOutcomes(
  store: Store,
  team: TeamId,
  { rule, subject, fromMs, isUndone }: LateGroup,
  excluded: ReadonlySet<RunId>,
): Promise<readonly AlertSignal[]> {
  const { groupBy } = rule.settings;
  const { text } = groupOf(groupBy, subject);
  const isCounted = ([id, summary]: readonly [RunId, RunSummary]) => {
    const own = subjectOf(summary);
    return !excluded.has(id) && closeArrivalOf(summary) >= rule.updatedAt &&
      matches(rule.settings, own) && groupOf(groupBy, own).text === text;
  };
  const { changed, isAll } = await changedSince(store, team, fromMs);
  const isLater = (summary: RunSummary) => closeArrivalOf(summary) >= fromMs;
  if (!isUndone && isAll && !changed.some((run) => isLater(run[1]) && isCounted(run))) return [];
  const started = await latestStarted(store, team, rule, subject);
  const runs = new Map([...changed, ...started].filter(isCounted));
  const signals = await signalsOf(store, team, rule, runs);
  return signals.toSorted((a, b) => a.at - b.at).slice(-OUTCOMES_MAX);
}

/**
 * Reads the runs that changed last, until all closes of a read arrived before an instant.
 *
 * @returns `isAll` if it ended there
 */
async function changedSince(store: Store, team: TeamId, fromMs: number) {
  const reader = new EntryReader(store, keys.changes(team), { end: null, reverse: true });
  const changed: [RunId, RunSummary][] = [];
  let last: Position | null = null;
  for (let read = 0; read < CHANGES.max; read += CHANGES.perRead) {
    const { entries }: EntryPage = await reader.read(last, CHANGES.perRead);
    const page = await readSummaries({ store, team }, entries.map(({ run }) => run));
    changed.push(...page);
    last = entries.at(-1) ?? null;
    const isOver = page.values().every((summary) => closeArrivalOf(summary) < fromMs);
    if (isOver || entries.length < CHANGES.perRead) return { changed, isAll: true };
  }
  return { changed, isAll: false };
}

/** Reads the latest runs by start of the orders that hold the runs of a group. */
async function latestStarted(store: Store, team: TeamId, rule: Rule, subject: SignalSubject) {
  const options = { limit: RUNS_MAX, reverse: true };
  const pages = await Promise.all(
    ordersOf(team, rule, subject).map((order) => readEntries(store, order, ALL_ENTRIES, options)),
  );
  const runs = pages.flatMap(({ entries }) => entries.map(({ run }) => run));
  return await readSummaries({ store, team }, runs);
}

/** Returns what the closes of runs, or their stored results, mean for a rule. */
async function signalsOf(
  store: Store,
  team: TeamId,
  rule: Rule,
  runs: ReadonlyMap<RunId, RunSummary>,
): Promise<readonly AlertSignal[]> {
  if (rule.settings.condition.kind === "run_failed") {
    return [...runs].flatMap(([id, after]) =>
      closeSignals({ id, before: null, after, latestAt: null })
    );
  }
  const judged = [...runs].filter(([, { checks }]) => checks !== undefined);
  const rows = await getAll(store, judged.map(([id]) => keys.checkResults(team, id)));
  const results = new Map(rows.map(({ key, value }) => [keyParts.headRow(key).run, value]));
  return judged.flatMap(([id, summary]) =>
    resultSignals(id, summary, decodeResults(results.get(id) ?? null), [rule])
  );
}

/** Returns the orders in the index that hold the runs of a group, and others. */
function ordersOf(
  team: TeamId,
  { settings: { groupBy } }: Rule,
  { agent, customer, feature }: SignalSubject,
): readonly Deno.KvKey[] {
  if (groupBy === "agent" && agent !== null) return [keys.runsBy(team, groupBy, agentPart(agent))];
  if (groupBy === "customer" && customer !== null) {
    return [keys.runsBy(team, groupBy, customerPart(customer))];
  }
  if (groupBy === "feature" && feature !== null) {
    return [keys.runsBy(team, groupBy, featurePart(feature))];
  }
  return RUN_KINDS.map((kind) => keys.runsBy(team, "kind", kind));
}
