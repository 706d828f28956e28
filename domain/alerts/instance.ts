/**
 * Instances: groups of a rule that are not `ok` (decisions 73 and 74).
 *
 * @module
 */
import type { Group } from "./group.ts";
import {
  needsRow,
  NO_OUTCOMES,
  type Outcomes,
  type Tally,
  tallyOf,
  type Thresholds,
  thresholdsOf,
  withGood,
  withOutcome,
  withoutOutcome,
} from "./outcomes.ts";
import { OTHER_GROUP, type Rule, type RuleCondition, type RuleSettings } from "./rule.ts";
import type { AlertSignal } from "./signal.ts";

/** An instance as stored; one of another version of its rule counts as none. */
export interface AlertInstance extends Group {
  /** Slug of the rule. */
  readonly rule: string;
  /** Identifier of the rule; null for a default one. */
  readonly ruleId: string | null;
  /** Version of the rule. */
  readonly ruleVersion: number;
  /** Its outcomes. */
  readonly outcomes: Outcomes;
  /** Arrival from which it has all outcomes, unix milliseconds. */
  readonly knownFrom: number;
  /** Its incident; null for none. */
  readonly incident: string | null;
  /** Number of its bad outcomes that a user resolved: they open no other incident. */
  readonly resolvedCount: number;
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
    outcomes: NO_OUTCOMES,
    knownFrom: Infinity,
    incident: null,
    resolvedCount: 0,
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

/** Returns what the outcomes of an instance make. */
export function stateOf({ outcomes, text }: AlertInstance, { settings }: Rule): Tally {
  return tallyOf(outcomes, limitsOf(text, settings));
}

/** Returns the thresholds of a group; groups that share one fire from the first bad outcome on. */
function limitsOf(text: string, settings: RuleSettings): Thresholds | null {
  return text === OTHER_GROUP ? null : thresholdsOf(settings);
}

/** Returns whether an instance is to be stored. */
export function isStored(instance: AlertInstance, { settings }: Rule): boolean {
  return hasPlace(instance) ||
    needsRow(instance.outcomes, limitsOf(instance.text, settings));
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
): Outcomes {
  const { at, key, run, value, detail } = signal;
  const thresholds = limitsOf(text, rule.settings);
  const outcome = outcomeFor(rule, signal);
  if (outcome === "none") return withoutOutcome(outcomes, key);
  if (outcome === "bad" || thresholds !== null) {
    const isBad = outcome === "bad";
    return withOutcome(outcomes, { at, key, isBad, run, value, detail }, thresholds);
  }
  // A monitor that is up again says nothing about the others of its group.
  return withGood(outcomes, { at, key }, signal.kind !== "missed");
}
