/**
 * Results of evaluations of rules, apart from outcomes of runs.
 *
 * @module
 */
import { type AlertSignal, type Group, newSignal } from "../../domain/alerts/signal.ts";
import { type AlertInstance, isOfRule } from "../../domain/alerts/instance.ts";
import {
  FIRING_GROUPS_MAX,
  OTHER_GROUP,
  type Rule,
  type RuleCondition,
  type RuleKind,
} from "../../domain/alerts/rule.ts";
import type { DueGroup } from "../../domain/alerts/signal_sources.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { listRows, type Store } from "../store.ts";
import { decodeInstance } from "./rows.ts";

/** A row of the work queue to file. */
export interface NextEvaluation {
  readonly at: number;
  readonly name: string;
}

/** The result of an evaluation. */
export interface Finding {
  readonly signals: readonly AlertSignal[];
  /** Groups to evaluate before the signals count; none when absent. */
  readonly dueGroups?: readonly DueGroup[];
  /** Rows to file. */
  readonly next: readonly NextEvaluation[];
}

/** A rule of one kind. */
export type RuleOf<Kind extends RuleKind> = Rule & {
  readonly settings: { readonly condition: Extract<RuleCondition, { readonly kind: Kind }> };
};

/** Returns whether a rule is of a kind. */
export function isOfKind<Kind extends RuleKind>(rule: Rule, kind: Kind): rule is RuleOf<Kind> {
  return rule.settings.condition.kind === kind;
}

/** Nothing was found. */
export const NOTHING: Finding = { signals: [], next: [] };

/** Milliseconds between evaluations of what ends without a call. */
const POLL_MS = 60_000;

/** Maximum groups of a rule that one evaluation reads: all that fire. */
const INSTANCES_MAX = FIRING_GROUPS_MAX + 1;

/** Returns the first full minute after a time: evaluations of one minute share a row. */
export function minuteAfter(atMs: number): number {
  return (Math.floor(atMs / POLL_MS) + 1) * POLL_MS;
}

/** Reads the groups of a rule in its current version that are not ok. */
export async function instancesOf(
  store: Store,
  team: TeamId,
  rule: Rule,
): Promise<AlertInstance[]> {
  const range = { prefix: keys.alerts(team, rule.slug) };
  const rows = await listRows(store, range, { limit: INSTANCES_MAX });
  return rows.map(({ value }) => decodeInstance(value))
    .filter((instance) => instance !== null)
    .filter((instance) => isOfRule(instance, rule));
}

/** Something that is true of a group, or was. */
export interface Condition extends Group {
  /** Identity within the group. */
  readonly key: string;
  /** Since when, or until when, unix milliseconds. */
  readonly at: number;
  /** The run that it is about; absent for none. */
  readonly run?: RunId | null;
  /** Measured value; absent for none. */
  readonly value?: number;
  /** Word that rules select by, or words for the title; absent for none. */
  readonly detail?: string;
  /** Words for the title instead; absent for none. */
  readonly words?: string | null;
}

/** Returns the signal of a condition. */
export function signalOf(
  { slug, settings: { condition: { kind } } }: Rule,
  { text, group, ...condition }: Condition,
  outcome: "bad" | "good",
): AlertSignal {
  return newSignal({ kind, rule: slug, group: { text, group }, outcome, ...condition });
}

/** Returns the conditions that their groups do not know yet. */
export function unknown<Some extends Condition>(
  instances: readonly AlertInstance[],
  conditions: readonly Some[],
): readonly Some[] {
  const known = new Set(
    instances.flatMap(({ text, outcomes }) => outcomes.kept.map(({ key }) => `${key} ${text}`)),
  );
  return conditions.filter(({ text, key }) => !known.has(`${key} ${text}`));
}

/** Returns the signals that conditions of groups are over; the group that others share has none. */
export function goodOf(
  rule: Rule,
  instances: readonly AlertInstance[],
  isOver: (key: string) => boolean,
  at: number,
): AlertSignal[] {
  return instances.filter(({ text }) => text !== OTHER_GROUP)
    .flatMap(({ text, group, outcomes }) =>
      outcomes.kept.filter(({ key }) => isOver(key))
        .map(({ key }) => signalOf(rule, { text, group, key, at }, "good"))
    );
}
