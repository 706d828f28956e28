/**
 * Sums the spend of the groups of a rule over days, from the roll-ups.
 *
 * @module
 */
import { groupOf, nameIn } from "../../domain/alerts/group.ts";
import { matches } from "../../domain/alerts/match.ts";
import type { RuleSettings } from "../../domain/alerts/rule.ts";
import type { SignalSubject } from "../../domain/alerts/signal.ts";
import type { Picodollars } from "../../domain/pricing/money.ts";
import type { RollupGroup, RollupKind, SpendStore } from "../../domain/spend/rollup.ts";
import { modelKey } from "../../domain/spend/spend.ts";
import { labelOf, modelOf } from "../../domain/spend/spend_query.ts";
import type { Team } from "../../domain/teams/team.ts";

/** Spend of a group. */
export interface GroupSpend {
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
