/**
 * Results of looks at rules, apart from outcomes of runs.
 *
 * @module
 */
import {
  type AlertSignal,
  newSignal,
  type SignalSubject,
  TEAM,
} from "../../domain/alerts/group.ts";
import { type AlertInstance, isOfRule } from "../../domain/alerts/instance.ts";
import {
  FIRING_GROUPS_MAX,
  type Rule,
  type RuleCondition,
  type RuleKind,
} from "../../domain/alerts/rule.ts";
import type { AlertLook } from "../../domain/alerts/signal.ts";
import type { IncidentGroup } from "../../domain/channels/message.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { listRows, type Store } from "../store.ts";
import { decodeInstance } from "./rows.ts";

/** A row of the work queue to file. */
export interface NextLook {
  readonly at: number;
  readonly name: string;
}

/** The result of a look. */
export interface Finding {
  readonly signals: readonly AlertSignal[];
  /** Groups to look at before the signals count; none when absent. */
  readonly looks?: readonly AlertLook[];
  /** Rows to file. */
  readonly next: readonly NextLook[];
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

/** Milliseconds between looks at what ends without a call. */
const LOOK_MS = 60_000;

/** Maximum groups of a rule that one look reads: all that fire. */
const INSTANCES_MAX = FIRING_GROUPS_MAX + 1;

/** Returns the first full minute after a time: looks of one minute share a row. */
export function minuteAfter(atMs: number): number {
  return (Math.floor(atMs / LOOK_MS) + 1) * LOOK_MS;
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

/** Returns a signal for one rule; without a subject it is about the team. */
export function signalFor(
  { slug, settings: { condition: { kind } } }: Rule,
  signal: Omit<Parameters<typeof newSignal>[0], "kind">,
): AlertSignal {
  return { ...newSignal({ ...signal, kind }), rule: slug };
}

/** Returns the signals that things of groups are good again. */
export function goodOf(
  rule: Rule,
  instances: readonly AlertInstance[],
  isGood: (key: string) => boolean,
  at: number,
): AlertSignal[] {
  return instances.flatMap(({ group, outcomes }) =>
    outcomes.kept.filter(({ key }) => isGood(key)).map(({ key }) =>
      signalFor(rule, { key, at, outcome: "good", subject: subjectIn(rule, group) })
    )
  );
}

/** Returns a subject of a group that the rule matches. */
function subjectIn({ settings: { match } }: Rule, group: IncidentGroup): SignalSubject {
  const [agent, customer, feature] = [match.agents[0], match.customers[0], match.features[0]];
  const matched = {
    agent: agent?.replace(/\*$/, "") ?? null,
    customer: customer ?? null,
    feature: feature ?? null,
  };
  return { ...TEAM, ...matched, ...group };
}
