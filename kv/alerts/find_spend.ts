/**
 * Looks at rules of kind `spend`.
 *
 * @module
 */
import { type AlertInstance, isOfRule } from "../../domain/alerts/instance.ts";
import { groupName } from "../../domain/alerts/look.ts";
import { OTHER_GROUP } from "../../domain/alerts/rule.ts";
import { spendPeriodOf } from "../../domain/alerts/spend_period.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { dayOf } from "../../domain/core/time.ts";
import { dollarsText, picodollars } from "../../domain/pricing/money.ts";
import type { SpendStore } from "../../domain/spend/rollup.ts";
import { daysOf } from "../../domain/spend/spend_query.ts";
import { keys } from "../base/keys.ts";
import { getValue, type Store } from "../store.ts";
import { type Found, instancesOf, type RuleOf, signalFor } from "./found.ts";
import { decodeInstance } from "./rows.ts";
import { type GroupSpend, spendByGroup, spendOfGroup } from "./group_spend.ts";

/** Dependencies of these looks. */
export interface SpendDeps {
  readonly store: Store;
  readonly spend: SpendStore;
}

/** Maximum groups that one look finds; the next look finds further ones. */
const GROUPS_MAX = 50;

/**
 * Finds groups whose spend of the current period has reached the limit, each once a period. Fired
 * groups end with their period.
 *
 * @param text of the only group to look at; null for all
 */
export async function findSpend(
  { store, spend }: SpendDeps,
  team: TeamId,
  rule: RuleOf<"spend">,
  text: string | null,
  nowMs: number,
): Promise<Found> {
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
  const allOver = [...sums].filter(([text, { cost }]) => cost >= limit && !fired.has(text));
  const over = allOver.slice(0, GROUPS_MAX);
  // Groups that share an incident are found by a look at each of them alone.
  const isMore = over.length < allOver.length && !fired.has(OTHER_GROUP);
  // The period before ends in an earlier commit, so that its incident ends too.
  const before = new Set(known.map(({ text }) => text));
  const ended = over.filter(([group]) => before.has(group));
  const begun = over.filter(([group]) => !before.has(group));
  const name = text === null ? slug : groupName(slug, text);
  const next = isMore || ended.length > 0 ? [{ at: nowMs + 1, name }] : [];
  const signals = begun.map(([, { subject, cost }]) => {
    const value = Number(dollarsText(cost));
    return signalFor(rule, { key, at: nowMs, outcome: "bad", subject, value });
  });
  const looks = ended.map(([group]) => ({ rule: slug, group, at: null }));
  return { signals, looks, next };
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
