/** Bars of the chart and rows of the table of days, from the same data. */
import type { Picodollars } from "../../../domain/pricing/money.ts";
import type { DailySpend } from "../../../domain/spend/daily.ts";
import { dayText, monthText } from "./labels.ts";

/** Maximum days with a bar each; longer periods are shown by month. */
export const DAY_BARS_MAX = 62;

export interface SpendBar {
  /** Display name. */
  readonly name: string;
  /** The total cost. */
  readonly total: Picodollars;
  /** The cost of each group, in the order of {@link DailySpend.daily}. */
  readonly parts: readonly Picodollars[];
}

/** Builds one bar per day, or per month for long periods. */
export function spendBarsOf({ days, dayTotals, daily }: DailySpend): readonly SpendBar[] {
  const byMonth = days.length > DAY_BARS_MAX;
  const bars = new Map<string, SpendBar>();
  for (const [at, day] of days.entries()) {
    const id = byMonth ? day.slice(0, 7) : day;
    const bar = bars.get(id);
    bars.set(id, {
      name: bar?.name ?? (byMonth ? monthText(id) : dayText(id)),
      total: (bar?.total ?? 0n) + (dayTotals[at] ?? 0n),
      parts: daily.map(({ costs }, part) => (bar?.parts[part] ?? 0n) + (costs[at] ?? 0n)),
    });
  }
  return [...bars.values()];
}

/**
 * Computes the ticks of the axis: round amounts, at most five, the last at or above the greatest.
 */
export function ticksOf(greatest: Picodollars): readonly Picodollars[] {
  if (greatest <= 0n) return [0n];
  let step = 1n;
  for (let power = 1n; step * 4n < greatest; power *= 10n) {
    step = [1n, 2n, 5n, 10n].map((digit) =>
      digit * power
    ).find((candidate) => candidate * 4n >= greatest) ??
      10n * power;
  }
  const ticks = [0n];
  for (let at = step; at < greatest + step; at += step) ticks.push(at);
  return ticks;
}

/** Names a series; all groups without a series of their own share one. */
export function seriesName({ group }: DailySpend["daily"][number]): string {
  return group === null ? "all others" : group.key;
}
