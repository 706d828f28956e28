/**
 * Signals, which rules are judged by: of the closes of runs, and of all else that
 * `signal_sources.ts` finds. They are counted in groups of a rule, with one incident for each. Rules
 * and silences apply to subjects.
 *
 * @module
 */
import type { IncidentGroup } from "../channels/message.ts";
import {
  IMPORT_SECONDS,
  isOfRuns,
  OTHER_GROUP,
  type Rule,
  RULE_KINDS,
  type RuleCondition,
  type RuleKind,
  RULES_PER_SIGNAL_MAX,
  type RuleSettings,
  type TeamCounts,
} from "./rule.ts";
import { appliesToAgent, matchesAgent } from "../agents/agents.ts";
import type { Silence } from "./silence.ts";
import type { RunId } from "../core/ids.ts";
import { closeKind } from "../outcomes/window.ts";
import { closeArrivalOf, type RunSummary } from "../runs/summary.ts";

/**
 * Maximum bytes of a group's name in a key, so that many groups fit a commit. Longer names with the
 * same beginning share a group.
 */
const NAME_BYTES_MAX = 256;

const encoder = new TextEncoder();

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

/** A group, with the text that keys and rows of the work queue name it by. */
export interface Group {
  /** The text: `=` and the name; empty for all else, such as runs without a customer. */
  readonly text: string;
  /** The group as incidents show it. */
  readonly group: IncidentGroup;
}

/** The group of what does not fit. */
export const OTHER: Group = { text: OTHER_GROUP, group: {} };

/** Returns the group of a subject. */
export function groupOf(groupBy: RuleSettings["groupBy"], subject: SignalSubject): Group {
  const name = groupBy === null ? null : subject[groupBy];
  if (groupBy === null || name === null) return { text: "", group: {} };
  return { text: `=${beginningOf(name)}`, group: { [groupBy]: name } };
}

/**
 * Returns the group of a budget's mark that was reached.
 *
 * @param share of the limit, 1 for all of it
 * @param group the budget, and the group that spent it
 */
export function groupOfMark(share: number, group: IncidentGroup): Group {
  const { budget = "", ...names } = group;
  const name = Object.values(names).join();
  return { text: `=${share} ${budget} ${beginningOf(name)}`, group };
}

/** Returns the share in the text of a budget's mark. */
export function shareIn(text: string): number {
  return Number(text.slice(1, text.indexOf(" ")));
}

/** Returns the name in the text of a group; null for what has none, or if it may be a beginning. */
export function nameIn(text: string): string | null {
  const name = text.slice(1);
  // No character takes more than four bytes.
  const isWhole = encoder.encode(name).length <= NAME_BYTES_MAX - 4;
  return text.startsWith("=") && isWhole ? name : null;
}

function beginningOf(name: string): string {
  // No UTF-16 unit takes more than three bytes.
  if (name.length * 3 <= NAME_BYTES_MAX) return name;
  return name.slice(0, encoder.encodeInto(name, new Uint8Array(NAME_BYTES_MAX)).read);
}

/** Returns whether a rule applies to a subject. */
export function matches(
  { condition, match }: Pick<RuleSettings, "condition" | "match">,
  subject: SignalSubject,
): boolean {
  // What a child run does, the run that started it shows (R32).
  if (subject.isChild && isOfRuns(condition) && condition.runs !== "all") return false;
  const { agents, customers, features } = match;
  return appliesToAgent(agents, subject.agent) && isIn(customers, subject.customer) &&
    isIn(features, subject.feature);
}

/**
 * Returns whether a silence mutes the messages about an incident. One that names agents or customers
 * mutes no incident of another group.
 */
export function isMuted(
  { settings: { match, fromMs, untilMs } }: Silence,
  { rule, group }: { readonly rule: string; readonly group: IncidentGroup },
  nowMs: number,
): boolean {
  return nowMs >= fromMs && nowMs < untilMs && isIn(match.rules, rule) &&
    matchesAgent(match.agents, group.agent ?? null) &&
    isIn(match.customers, group.customer ?? null);
}

function isIn(names: readonly string[], name: string | null): boolean {
  return names.length === 0 || name !== null && names.includes(name);
}

/** The subject of an evaluation. */
export type RuleTarget =
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

/** Returns the name of an evaluation of all rules of a kind. */
export function kindName(kind: RuleKind): string {
  return `${KIND}${kind}`;
}

/** Returns the name of a group of a rule, and of an evaluation of it. */
export function groupName(rule: string, group: string): string {
  return `${rule}${SEPARATOR}${group}`;
}

/** Returns what a row of that name asks for; null for a kind that does not exist. */
export function targetOf(name: string): RuleTarget | null {
  if (name.startsWith(KIND)) {
    const kind = RULE_KINDS.find((kind) => kindName(kind) === name);
    return kind === undefined ? null : { of: "kind", kind };
  }
  const at = name.indexOf(SEPARATOR);
  return at < 0
    ? { of: "rule", rule: name }
    : { of: "group", rule: name.slice(0, at), group: name.slice(at + SEPARATOR.length) };
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
  /** Group of the only rule, which matches; absent if it follows from the subject. */
  readonly group?: Group;
  /** Identity within its group, such as the run's id. */
  readonly key: string;
  /** Arrival of what it reports, unix milliseconds. */
  readonly at: number;
  /**
   * `bad`: the condition is true; `good`: it is false; `none`: neither, which removes an earlier
   * outcome of the key; `paused`: as good, and resolves at once; `resolved`: a user resolved the
   * incident of those before, which open no other.
   */
  readonly outcome: "bad" | "good" | "none" | "paused" | "resolved";
  /** Arrival of the good outcome of the key that this replaces, unix milliseconds; absent for none. */
  readonly undoneAt?: number;
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

/** Returns the signal of a user who resolves the incident of a group. */
export function resolvedSignal({ settings: { condition } }: Rule, at: number): AlertSignal {
  // Its key is behind those of runs of the same instant.
  return newSignal({ kind: condition.kind, key: "~", at, outcome: "resolved" });
}

/** Returns the outcome of a signal for a rule: one that the rule does not count is none. */
export function outcomeFor({ settings }: Rule, signal: AlertSignal): AlertSignal["outcome"] {
  if (signal.outcome !== "bad") return signal.outcome;
  return counts(settings.condition, signal.detail ?? "") ? "bad" : "none";
}

/** Returns whether a condition counts what a signal reports. */
function counts(condition: RuleCondition, detail: string): boolean {
  const isIn = (words: readonly string[]) => words.includes(detail);
  if (condition.kind === "run_failed") return isIn(condition.statuses);
  if (condition.kind === "missed") return isIn(condition.reasons);
  return condition.kind !== "service" || isIn(condition.what);
}

/** Rules that count signals. */
export interface RulesByKind {
  /** Enabled rules. */
  readonly byKind: ReadonlyMap<RuleKind, readonly Rule[]>;
}

/** Signals of one group of a rule, in order. */
export interface Touched extends Group {
  /** Rule that counts the signals. */
  readonly rule: Rule;
  /** Its signals. */
  readonly signals: readonly AlertSignal[];
  /** The bad ones. */
  readonly bad: readonly AlertSignal[];
  /** Arrival of the first good outcome that they replace, unix milliseconds; Infinity for none. */
  readonly undoneAt: number;
}

/** Kinds of rules that judge runs: only those closed after the rule's last change. */
const OF_RUNS: ReadonlySet<RuleKind> = new Set([
  "run_failed",
  "check_failed",
  "run_cost",
  "unpriced",
]);

/** Returns signals by rule and group, without good ones that no instance can count. */
export function touched(
  config: RulesByKind,
  counts: TeamCounts,
  signals: readonly AlertSignal[],
): Touched[] {
  const groups = new Map<
    string,
    Touched & { readonly signals: AlertSignal[]; bad: AlertSignal[]; undoneAt: number }
  >();
  for (const signal of signals) {
    for (const rule of rulesOf(config, signal)) {
      const group = signal.group ?? groupOf(rule.settings.groupBy, signal.subject);
      const name = groupName(rule.slug, group.text);
      const known = groups.get(name) ??
        { ...group, rule, signals: [], bad: [], undoneAt: Infinity };
      groups.set(name, known);
      known.signals.push(signal);
      known.undoneAt = Math.min(known.undoneAt, signal.undoneAt ?? Infinity);
      if (outcomeFor(rule, signal) === "bad") known.bad.push(signal);
    }
  }
  return Array.from(groups.values()).filter(({ rule, bad, undoneAt }) =>
    bad.length > 0 || undoneAt < Infinity || (counts[rule.slug]?.instances ?? 0) > 0
  );
}

/** Returns the rules that count a signal. */
function rulesOf({ byKind }: RulesByKind, signal: AlertSignal): readonly Rule[] {
  const ofKind = byKind.get(signal.kind) ?? [];
  return ofKind.filter(({ slug, updatedAt, settings }) =>
    (signal.rule === null || signal.rule === slug) &&
    (!OF_RUNS.has(signal.kind) || signal.at >= updatedAt) &&
    (signal.group !== undefined || matches(settings, signal.subject))
  ).slice(0, RULES_PER_SIGNAL_MAX);
}

/** A changed run. */
export interface RunChange {
  /** Identifier. */
  readonly id: RunId;
  /** Summary before; null for none. */
  readonly before: RunSummary | null;
  /** Summary after; null for a removed run, which gives no signal. */
  readonly after: RunSummary | null;
  /** Latest arrival of its events, unix milliseconds; null for none. */
  readonly latestAt: number | null;
}

/** Outcome of a run that `run_failed` counts; null for an open or cancelled run, or an import. */
export function closeOutcomeOf(summary: RunSummary | null): "good" | "bad" | null {
  return summary === null || isImported(summary) ? null : closeKind(summary);
}

/** Returns the signals that the close of a run gives `run_failed`; none if nothing changed. */
export function closeSignals({ id, before, after }: RunChange): AlertSignal[] {
  const closeOf = (summary: RunSummary | null): AlertSignal[] => {
    const outcome = closeOutcomeOf(summary);
    if (summary === null || outcome === null) return [];
    const detail = summary.contribution?.labels.status ?? null;
    return [{ ...signalOf("run_failed", id, summary, outcome), detail }];
  };
  return changedSignals(closeOf(before), closeOf(after), isMoved(before, after));
}

/**
 * Returns the signals of a run that changed, and the ones that are withdrawn.
 *
 * @param isMoved true if the run left its groups
 */
export function changedSignals(
  before: readonly AlertSignal[],
  after: readonly AlertSignal[],
  isMoved: boolean,
): AlertSignal[] {
  const sameIn = (signals: readonly AlertSignal[], { rule }: AlertSignal) =>
    isMoved ? undefined : signals.find((signal) => signal.rule === rule);
  const gone = before.filter((signal) => sameIn(after, signal) === undefined);
  const changed = after.flatMap((signal): AlertSignal[] => {
    const known = sameIn(before, signal);
    const isMade = known?.outcome !== signal.outcome || known.at !== signal.at;
    if (isMade) return [{ ...signal, ...undone(known) }];
    return known.detail === signal.detail ? [] : [signal];
  });
  return [
    ...gone.map((signal) => ({
      ...signal,
      ...{ outcome: "none" as const, detail: null, error: null },
      ...undone(signal),
    })),
    ...changed,
  ];
}

/** Returns what a signal says of the one that it replaces: a good one no longer ends an incident. */
function undone(known: AlertSignal | undefined): Pick<AlertSignal, "undoneAt"> {
  return known?.outcome === "good" ? { undoneAt: known.at } : {};
}

/** Returns the subject of a run's signals. */
export function subjectOf({ contribution, parent }: RunSummary): SignalSubject {
  const { agent = null, customer = null, feature = null } = contribution?.labels ?? {};
  return {
    agent,
    customer,
    feature,
    model: null,
    ...parent === undefined ? {} : { isChild: true },
  };
}

/** Returns a signal of a run, without what it measured. */
export function signalOf(
  kind: AlertSignal["kind"],
  run: RunId,
  summary: RunSummary,
  outcome: AlertSignal["outcome"],
  at = closeArrivalOf(summary),
): AlertSignal {
  return newSignal({ kind, key: run, at, outcome, run, subject: subjectOf(summary) });
}

/**
 * Returns whether a run ended long before its close arrived, or began long before its opening
 * arrived. An idle close arrives up to a day after the run's last event.
 */
export function isImported(
  { seen: { closedBy }, shown: { finishedAt }, times }: RunSummary,
): boolean {
  if (times === null) return false;
  const seconds = closedBy === "idle" ? 2 * IMPORT_SECONDS : IMPORT_SECONDS;
  return times.receivedAt - (finishedAt ?? times.startedAt) > seconds * 1_000;
}

/** Returns whether a run left the groups that it counted in. */
export function isMoved(before: RunSummary | null, after: RunSummary | null): boolean {
  return before !== null && after !== null && !isSameSubject(before, after);
}

/** Returns whether signals of a run stay about the same. */
export function isSameSubject(before: RunSummary, after: RunSummary): boolean {
  const [old, now] = [subjectOf(before), subjectOf(after)];
  return old.agent === now.agent && old.customer === now.customer && old.feature === now.feature;
}
