/**
 * Spend by day: the costliest groups separately, all others combined. It is computed from the same
 * rows as the response, so its days add up to the response's totals.
 *
 * @module
 */
import type { Picodollars } from "../pricing/money.ts";
import { dayGroup, type ReadRows, type Spend, type SpendGroup, spendOf } from "./spend.ts";
import { daysOf, type Grouping, type SpendQuery } from "./spend_query.ts";

/** Maximum groups shown by day; more are hard to tell apart by eye. */
export const DAILY_GROUPS_MAX = 8;

/** Daily costs of a group. */
export interface DailyGroup {
  /** Group; null for all groups not shown separately. */
  readonly group: SpendGroup | null;
  /** Cost by day, in picodollars. */
  readonly costs: readonly Picodollars[];
}

/** Returns the grouping of the daily series; a query grouped by day gets a series by agent. */
export function seriesOf(groupBy: Grouping): Grouping {
  return groupBy === "day" ? "agent" : groupBy;
}

/** The answer to a spend query, including daily series. */
export interface DailySpend extends Spend {
  /** UTC days `YYYY-MM-DD`, in order. */
  readonly days: readonly string[];
  /** Total cost by day, in picodollars. */
  readonly dayTotals: readonly Picodollars[];
  /** Costliest groups first, all others last; they add up to `dayTotals`. */
  readonly daily: readonly DailyGroup[];
}

/** Answers a spend query, including daily series. */
export async function dailySpendOf(query: SpendQuery, read: ReadRows): Promise<DailySpend> {
  const { totals, groups, byDay } = await spendOf(
    { ...query, groupBy: seriesOf(query.groupBy) },
    read,
    true,
  );
  const days = daysOf(query);
  const dayTotals = days.map((day) => byDay?.get(day)?.cost ?? 0n);
  const split = groups.map(({ costs, ...group }) => ({ group, costs }));
  const named = split.filter(({ group: { folded, measures } }) =>
    folded === null && measures.cost > 0n
  );
  const daily: DailyGroup[] = named.slice(0, DAILY_GROUPS_MAX).map(({ group, costs }) => ({
    group,
    costs: days.map((day) => costs?.get(day) ?? 0n),
  }));
  const rest = dayTotals.map((total, day) =>
    daily.reduce((left, { costs }) => left - (costs[day] ?? 0n), total)
  );
  if (rest.some((cost) => cost !== 0n)) daily.push({ group: null, costs: rest });
  const shown = query.groupBy === "day"
    ? days.map((key) => dayGroup(key, byDay?.get(key)))
    : split.map(({ group }) => group);
  return { totals, groups: shown, days, dayTotals, daily };
}
