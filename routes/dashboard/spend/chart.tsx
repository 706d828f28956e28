/** Daily spend as stacked bars. Groups differ by colour and pattern; a table has the same data. */
import type { Picodollars } from "../../../domain/pricing/money.ts";
import { type DailySpend, seriesOf } from "../../../domain/spend/daily.ts";
import type { SpendQuery } from "../../../domain/spend/spend_query.ts";
import type { SpendGroup } from "../../../domain/spend/spend.ts";
import { Money, Wide } from "../components/elements.tsx";
import { exactMoneyText, moneyText, percentText } from "../components/format.ts";
import { daySpan, dayText, monthText, shortName } from "./labels.ts";
import type { SpendAnswer } from "./paths.ts";

/** SVG units: bars are drawn from 0 to `bars`, amounts above 0. */
const SIZE = { width: 1280, left: 56, right: 4, above: 10, bars: 200, names: 24 } as const;
const INNER_WIDTH = SIZE.width - SIZE.left - SIZE.right;

/** Maximum number of day names below the bars. */
const NAMES_MAX = 16;

/** Maximum characters of a group's name in the legend. */
const NAME_CHARS_MAX = 40;

/** Pattern marks over the colour, by the position of the group. */
const MARKS: readonly string[] = [
  "",
  "M0 8L8 0M-2 2L2 -2M6 10L10 6",
  "M0 4H8",
  "M2 2h2v2h-2zM6 6h2v2h-2z",
  "M4 0V8",
  "M0 0L8 8M-2 6L2 10M6 -2L10 2",
  "M0 4H8M4 0V8",
  "M0 0L8 8M0 8L8 0",
];

/** The chart with its legend. */
export function SpendChart({ query, spend }: Pick<SpendAnswer, "query" | "spend">) {
  const bars = spendBarsOf(spend);
  const greatest = bars.reduce((most, { total }) => total > most ? total : most, 0n);
  if (greatest === 0n) return null;
  const ticks = ticksOf(greatest);
  const top = ticks.at(-1) ?? 1n;
  const slot = INNER_WIDTH / bars.length;
  const height = SIZE.above + SIZE.bars + SIZE.names;
  const namedEvery = Math.ceil(bars.length / NAMES_MAX);
  return (
    <figure class="panel spend">
      <Wide label="Chart of the cost">
        <svg
          class="chart"
          viewBox={`0 ${-SIZE.above} ${SIZE.width} ${height}`}
          width={SIZE.width}
          height={height}
          role="img"
          aria-labelledby="spend-chart-title"
        >
          <title id="spend-chart-title">
            {`Cost ${daySpan(query.from, query.to)}, by ${seriesOf(query.groupBy)}: ` +
              `${moneyText(spend.totals.cost)} in all. The table of days has the same numbers.`}
          </title>
          <Patterns query={query} spend={spend} />
          <g>
            {ticks.map((tick) => {
              const y = rounded(yOf(tick, top));
              return (
                <>
                  <line class="grid" x1={SIZE.left} x2={SIZE.width - SIZE.right} y1={y} y2={y} />
                  <text x={SIZE.left - 6} y={y + 4} text-anchor="end">{exactMoneyText(tick)}</text>
                </>
              );
            })}
          </g>
          {bars.map((bar, at) => (
            <Bar
              bar={bar}
              left={SIZE.left + at * slot}
              slot={slot}
              top={top}
              isNamed={at % namedEvery === 0}
            />
          ))}
        </svg>
      </Wide>
      <Legend spend={spend} />
    </figure>
  );
}

/** Returns the class of a group's colour; statuses have colours of their own. */
function colourOf({ groupBy }: SpendQuery, group: SpendGroup | null, at: number): string {
  if (group === null) return "rest";
  return groupBy === "status" ? group.key : `c${at + 1}`;
}

function Patterns({ query, spend }: Pick<SpendAnswer, "query" | "spend">) {
  return (
    <defs>
      {spend.daily.map(({ group }, at) => (
        <pattern id={`series-${at}`} width="8" height="8" patternUnits="userSpaceOnUse">
          <rect class={colourOf(query, group, at)} width="8" height="8" />
          {MARKS[at] && <path class="mark" d={MARKS[at]} />}
        </pattern>
      ))}
    </defs>
  );
}

interface BarProps {
  readonly bar: SpendBar;
  /** Left end of its slot, and the width of the slot. */
  readonly left: number;
  readonly slot: number;
  /** Amount at the upper end of the axis. */
  readonly top: Picodollars;
  readonly isNamed: boolean;
}

function Bar({ bar, left, slot, top, isNamed }: BarProps) {
  const width = Math.min(slot * 0.78, 64);
  const x = left + (slot - width) / 2;
  const middle = rounded(x + width / 2);
  let below = 0n;
  return (
    <g>
      <title>{`${bar.name}: ${moneyText(bar.total)}`}</title>
      {bar.parts.map((part, at) => {
        if (part <= 0n) return null;
        const bottom = yOf(below, top);
        below += part;
        const y = yOf(below, top);
        return (
          <rect
            x={rounded(x)}
            y={rounded(y)}
            width={rounded(width)}
            height={rounded(bottom - y)}
            fill={`url(#series-${at})`}
          />
        );
      })}
      {isNamed && <text x={middle} y={SIZE.bars + 17} text-anchor="middle">{bar.name}</text>}
    </g>
  );
}

/** Explains the colours and patterns, with the total of each group. */
function Legend({ spend }: { readonly spend: DailySpend }) {
  return (
    <figcaption>
      <ul class="legend" aria-label="Groups in the chart">
        {spend.daily.map((series, at) => {
          const total = series.costs.reduce((sum, cost) => sum + cost, 0n);
          return (
            <li>
              <SpendSwatch at={at} /> {shortName(seriesName(series), NAME_CHARS_MAX)}{" "}
              <Money of={total} /> <span class="soft">{percentText(total, spend.totals.cost)}</span>
            </li>
          );
        })}
      </ul>
    </figcaption>
  );
}

/** A sample of a group's colour and pattern. */
export function SpendSwatch({ at }: { readonly at: number }) {
  return (
    <svg class="swatch" width="16" height="16" aria-hidden="true">
      <rect width="16" height="16" fill={`url(#series-${at})`} />
    </svg>
  );
}

/** Returns the y position of an amount; converting to a number is precise enough for drawing. */
function yOf(amount: Picodollars, top: Picodollars): number {
  return SIZE.bars * (1 - Number(amount) / Number(top));
}

function rounded(size: number): number {
  return Math.round(size * 10) / 10;
}

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
function ticksOf(greatest: Picodollars): readonly Picodollars[] {
  let step = 1n;
  for (let power = 1n; step * 4n < greatest; power *= 10n) {
    const steps = [1n, 2n, 5n, 10n].map((digit) => digit * power);
    step = steps.find((candidate) => candidate * 4n >= greatest) ?? 10n * power;
  }
  const ticks = [0n];
  for (let at = step; at < greatest + step; at += step) ticks.push(at);
  return ticks;
}

/** Names a series; all groups without a series of their own share one. */
export function seriesName({ group }: DailySpend["daily"][number]): string {
  return group === null ? "all others" : group.key;
}
