/**
 * Finds what is true of rules of the kind `spend`: the spend of their groups over days, from the
 * roll-ups.
 *
 * @module
 */
import { type AlertInstance, isOfRule, spendPeriodOf } from "../../domain/alerts/instance.ts";
import {
  groupName,
  groupOf,
  matches,
  nameIn,
  type SignalSubject,
} from "../../domain/alerts/signal.ts";
import { OTHER_GROUP, type RuleSettings } from "../../domain/alerts/rule.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { dayOf } from "../../domain/core/time.ts";
import { dollarsText, type Picodollars, picodollars } from "../../domain/pricing/money.ts";
import type { RollupGroup, RollupKind } from "../../domain/spend/rollup.ts";
import { daysOf, labelOf, modelOf } from "../../domain/spend/spend_query.ts";
import { keys } from "../base/keys.ts";
import { getValue, type Store } from "../store.ts";
import {
  type Condition,
  type Finding,
  instancesOf,
  type RuleOf,
  signalOf,
  unknown,
} from "./conditions.ts";
import { decodeInstance } from "./rows.ts";
import { modelKey } from "../../domain/spend/spend.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { SpendStore } from "../spend/rollups.ts";

/** Dependencies of these evaluations. */
export interface SpendDeps {
  readonly store: Store;
  readonly spend: SpendStore;
}

/** Maximum groups that one evaluation finds; the next evaluation finds further ones. */
const GROUPS_MAX = 50;

/**
 * Finds groups whose spend of the current period has reached the limit, each once a period. Fired
 * groups end with their period.
 *
 * @param text of the only group to evaluate; null for all
 */
export async function findSpend(
  { store, spend }: SpendDeps,
  team: TeamId,
  rule: RuleOf<"spend">,
  text: string | null,
  nowMs: number,
): Promise<Finding> {
  const { settings: { condition }, slug } = rule;
  const { startMs, endMs } = spendPeriodOf(condition.period, nowMs);
  const key = dayOf(startMs);
  const known = await instancesIn(store, team, rule, text);
  const fired = new Set(
    known.filter(({ outcomes }) => outcomes.kept.some((each) => each.key === key))
      .map(({ text }) => text),
  );
  const days = daysOf({ from: key, to: dayOf(endMs - 1) });
  const sums = text !== null && fired.has(text)
    ? new Map<string, GroupSpend>()
    : await sumsOf(spend, team, rule, text, days);
  const limit = picodollars(Number(condition.usd));
  const over = [...sums].filter(([, { cost }]) => cost >= limit)
    .map(([text, { subject, cost }]): Condition => {
      const { group } = groupOf(rule.settings.groupBy, subject);
      return { text, group, key, at: nowMs, value: Number(dollarsText(cost)) };
    });
  const added = unknown(known, over);
  const some = added.slice(0, GROUPS_MAX);
  // Groups that share an incident are found by work on each of them alone.
  const isMore = some.length < added.length && !fired.has(OTHER_GROUP);
  // The period before ends in an earlier commit, so that its incident ends too.
  const before = new Set(known.map(({ text }) => text));
  const ended = some.filter(({ text }) => before.has(text));
  const name = text === null ? slug : groupName(slug, text);
  return {
    signals: some.filter(({ text }) => !before.has(text))
      .map((condition) => signalOf(rule, condition, "bad")),
    dueGroups: ended.map(({ text: group }) => ({ rule: slug, group, at: null })),
    next: isMore || ended.length > 0 ? [{ at: nowMs + 1, name }] : [],
  };
}

async function instancesIn(
  store: Store,
  team: TeamId,
  rule: RuleOf<"spend">,
  text: string | null,
): Promise<readonly AlertInstance[]> {
  if (text === null) return await instancesOf(store, team, rule);
  const instance = decodeInstance(await getValue(store, keys.alert(team, rule.slug, text)));
  return instance !== null && isOfRule(instance, rule) ? [instance] : [];
}

async function sumsOf(
  spend: SpendStore,
  id: TeamId,
  { settings }: RuleOf<"spend">,
  text: string | null,
  days: readonly string[],
): Promise<ReadonlyMap<string, GroupSpend>> {
  if (text === null) return await spendByGroup(spend, { id }, settings, days);
  const sum = await spendOfGroup(spend, { id }, settings, text, days);
  return new Map(sum === null ? [] : [[text, sum]]);
}

/** Spend of a group. */
interface GroupSpend {
  readonly subject: SignalSubject;
  readonly cost: Picodollars;
}

const LABELS = ["agent", "customer", "feature"] as const;

type Label = typeof LABELS[number];

const NOBODY: SignalSubject = { agent: null, customer: null, feature: null, model: null };

/** Returns the spend of all groups of a rule on some days in a row, by the text of the group. */
export async function spendByGroup(
  spend: SpendStore,
  team: Pick<Team, "id">,
  rule: RuleSettings,
  days: readonly string[],
): Promise<ReadonlyMap<string, GroupSpend>> {
  const sums = new Map<string, GroupSpend>();
  const [from, to] = [days[0], days.at(-1)];
  if (from === undefined || to === undefined) return sums;
  for await (const rows of spend.rows(team, kindOf(rule), from, to)) {
    for (const { group, measures: { cost } } of rows) {
      const subject = subjectOf(group);
      if (cost === 0n || !matches(rule, subject)) continue;
      const { text } = groupOf(rule.groupBy, subject);
      const sum = sums.get(text);
      sums.set(text, { subject: sum?.subject ?? subject, cost: cost + (sum?.cost ?? 0n) });
    }
  }
  return sums;
}

/**
 * Returns the spend of one group of a rule on some days in a row; null if it has none.
 *
 * @param text of the group
 */
export async function spendOfGroup(
  spend: SpendStore,
  team: Pick<Team, "id">,
  rule: RuleSettings,
  text: string,
  days: readonly string[],
): Promise<GroupSpend | null> {
  const group = rollupOf(kindOf(rule), nameIn(text));
  if (group === null) return (await spendByGroup(spend, team, rule, days)).get(text) ?? null;
  const subject = subjectOf(group);
  if (!matches(rule, subject)) return null;
  const rows = await spend.some(team, [group], days);
  return { subject, cost: rows.reduce((sum, { measures }) => sum + measures.cost, 0n) };
}

/** Returns the kind of roll-ups that has all that a rule matches and groups by, in the fewest rows. */
function kindOf({ groupBy, match }: RuleSettings): RollupKind {
  const matched = { agent: match.agents, customer: match.customers, feature: match.features };
  const needed = LABELS.filter((label) => label === groupBy || matched[label].length > 0);
  const [first] = needed;
  if (groupBy === "model") return first === undefined ? "model" : "model_cell";
  return first === undefined ? "total" : needed.length === 1 ? first : "cell";
}

/** Returns the only roll-up of a group; null if it has several, or the name may be cut. */
function rollupOf(kind: RollupKind, name: string | null): RollupGroup | null {
  if (kind === "total") return { kind };
  const label = LABELS.find((label) => label === kind);
  return label === undefined || name === null ? null : { kind: label, value: name };
}

function subjectOf(group: RollupGroup): SignalSubject {
  const model = modelOf(group);
  return {
    ...NOBODY,
    ...Object.fromEntries(LABELS.map((label: Label) => [label, labelOf(group, label)])),
    model: model === null ? null : modelKey(model),
  };
}
