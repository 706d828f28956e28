/** Daily spend as stacked columns, one colour a group; a table has the same data. */
import type { Picodollars } from "../../../domain/pricing/money.ts";
import { type DailySpend, seriesOf } from "../../../domain/spend/daily.ts";
import type { SpendQuery } from "../../../domain/spend/spend_query.ts";
import type { SpendGroup } from "../../../domain/spend/spend.ts";
import { ColumnChart, Swatch, UsualSwatch } from "../components/column_chart.tsx";
import { Money } from "../components/elements.tsx";
import { exactMoneyText, moneyText, percentText } from "../components/format.ts";
import { daySpan, dayText, monthText, shortName } from "./labels.ts";
import { runsOfGroupPath, type SpendAnswer } from "./paths.ts";

/** Height of the columns in pixels. */
const HEIGHT = 200;

/** Maximum characters of a group's name in the legend. */
const NAME_CHARS_MAX = 40;

/** Marks of the patterns that replace the second and further colours in print. */
const MARKS: readonly string[] = [
  "M0 8L8 0M-2 2L2 -2M6 10L10 6",
  "M0 4H8",
  "M2 2h2v2h-2zM6 6h2v2h-2z",
  "M4 0V8",
  "M0 0L8 8M-2 6L2 10M6 -2L10 2",
  "M0 4H8M4 0V8",
  "M0 0L8 8M0 8L8 0",
];

/** The chart with its legend. */
export function SpendChart({ answer }: { readonly answer: SpendAnswer }) {
  const { query, spend, before } = answer;
  const bars = spendBarsOf(spend);
  if (spend.totals.cost === 0n) return null;
  const colours = spend.daily.map(({ group }, at) => colourOf(query, group, at));
  const usual = before === null || before === 0n ? null : Number(before) / bars.length;
  return (
    <section class="panel spend">
      <ColumnChart
        title={`Cost ${daySpan(query.from, query.to)}, by ${seriesOf(query.groupBy)}: ` +
          `${moneyText(spend.totals.cost)} in all. The table of days has the same numbers.`}
        columns={bars.map(({ name, from, to, total, parts }) => ({
          name,
          title: `${name}: ${moneyText(total)}`,
          to: runsOfGroupPath({ ...answer, query: { ...query, from, to } }, null),
          parts: parts.map((part, at) => [colours[at] ?? "rest", Math.max(0, Number(part))]),
        }))}
        format={(tick) => exactMoneyText(BigInt(tick))}
        usual={usual}
        height={HEIGHT}
      />
      <ul class="legend" aria-label="Groups in the chart">
        {spend.daily.map((series, at) => {
          const total = series.costs.reduce((sum, cost) => sum + cost, 0n);
          return (
            <li>
              <Swatch of={colours[at] ?? "rest"} /> {shortName(seriesName(series), NAME_CHARS_MAX)}
              {" "}
              <Money of={total} /> <span class="soft">{percentText(total, spend.totals.cost)}</span>
            </li>
          );
        })}
        {usual !== null && (
          <li class="soft">
            <UsualSwatch /> average of the {spend.days.length} days before
          </li>
        )}
      </ul>
      <Patterns />
    </section>
  );
}

/** Returns the class of a group's colour; statuses have colours of their own. */
export function colourOf({ groupBy }: SpendQuery, group: SpendGroup | null, at: number): string {
  if (group === null) return "rest";
  return groupBy === "status" ? group.key : `c${at + 1}`;
}

/** Defines the patterns, which only print and forced colours use. */
function Patterns() {
  return (
    <div class="sr">
      <svg aria-hidden="true">
        {MARKS.map((mark, at) => (
          <pattern id={`pattern-${at + 2}`} width="8" height="8" patternUnits="userSpaceOnUse">
            <path d={mark} />
          </pattern>
        ))}
      </svg>
    </div>
  );
}

/** Maximum days with a bar each; longer periods are shown by month. */
export const DAY_BARS_MAX = 62;

export interface SpendBar {
  /** Display name. */
  readonly name: string;
  /** First and last day, `YYYY-MM-DD`. */
  readonly from: string;
  readonly to: string;
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
      from: bar?.from ?? day,
      to: day,
      total: (bar?.total ?? 0n) + (dayTotals[at] ?? 0n),
      parts: daily.map(({ costs }, part) => (bar?.parts[part] ?? 0n) + (costs[at] ?? 0n)),
    });
  }
  return [...bars.values()];
}

/** Names a series; all groups without a series of their own share one. */
export function seriesName({ group }: DailySpend["daily"][number]): string {
  return group === null ? "all others" : group.key;
}
