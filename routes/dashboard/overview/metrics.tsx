/** Metrics of today and of the days before: sums with a line, charts, and spend by agent. */
import type { Child } from "hono/jsx";
import { DAY_MS } from "../../../domain/core/time.ts";
import { UNATTRIBUTED } from "../../../domain/runs/filters.ts";
import { ColumnChart, ShareBar, Swatch, UsualSwatch } from "../components/column_chart.tsx";
import { Money, Section } from "../components/elements.tsx";
import {
  countedText,
  dayText,
  exactMoneyText,
  formatCount,
  moneyText,
  percentText,
} from "../components/format.ts";
import { FAILURES } from "../components/run_state.tsx";
import { type Column, column, countColumn, numberColumn, Table } from "../components/table.tsx";
import { agentPath, queryText, RUNS_PATH, SPEND_PATH } from "../layout/paths.ts";
import type { OverviewData } from "./overview_load.ts";
import { type AgentSpend, compare, type DayMetrics, type SoFar } from "./overview_view.ts";

/** Path of the runs of a day, with their child runs: the list has as many as are counted. */
function dayRunsPath(day: string, statuses: readonly string[] = []): string {
  const status = statuses.map((status) => ["status", status] as const);
  return RUNS_PATH + queryText([...status, ["from", day], ["to", day], ["root", "false"]]);
}

const failuresPath = (day: string) => dayRunsPath(day, FAILURES);
const daySpendPath = (day: string) =>
  SPEND_PATH + queryText([["group_by", "agent"], ["from", day], ["to", day]]);

/** Metrics by their name in {@link DayMetrics}, each with the page of a day. */
const METRICS = [
  { of: "failed", name: "Failed or timed out", chart: "Failures a day", to: failuresPath },
  { of: "runs", name: "Runs", chart: "Runs a day", to: dayRunsPath },
  { of: "cost", name: "Cost", chart: "Cost a day", to: daySpendPath },
] as const;

type MetricName = typeof METRICS[number]["of"];

/** Describes a day for the chart of a metric. */
function describe(of: MetricName, { runs, failed, timedOut, running, cost }: DayMetrics): string {
  const all = countedText(runs, "run");
  if (of === "cost") return `${moneyText(cost)}, ${all}`;
  const [text, more, word] = of === "failed"
    ? [`${formatCount(failed)} of ${all} failed`, timedOut, "timed out"] as const
    : [`${all}, ${formatCount(failed)} failed`, running, "running"] as const;
  return more === 0 ? text : `${text}, ${formatCount(more)} ${word}`;
}

/** Path of the open runs. */
export const RUNNING_PATH = RUNS_PATH + queryText([["status", "running"]]);

/** Metrics of today, each with its line and the line of a usual day. */
export function Stats({ data }: { readonly data: OverviewData }) {
  const { days, usual, hours, span, running, openRuns } = data;
  const over = openRuns.filter(({ isFarOver }) => isFarOver).length;
  const today = days.at(-1);
  if (today === undefined) return null;
  const passed = (span.nowMs - span.startMs) / DAY_MS;
  return (
    <section class="stats panel" aria-label="Today">
      {METRICS.map(({ of, name, to }) => (
        <div class="stat">
          <a class="row" href={to(today.day)}>{name}</a>
          <b>{amountOf(today, of)}</b>
          {lineOf(hours[of], Number(today[of]), passed, of === "failed")}
          <p>
            {usual === null
              ? "nothing to compare with yet"
              : comparison(of, Number(today[of]), usual[of], hours[of].usualNow)}
          </p>
        </div>
      ))}
      <div class="stat">
        <a class="row" href={RUNNING_PATH}>Running now</a>
        <b>{running}</b>
        <p class={over > 0 ? "more" : undefined}>{over || "none"} far over the usual time</p>
      </div>
    </section>
  );
}

function amountOf({ runs, failed, timedOut, running, cost }: DayMetrics, of: MetricName): Child {
  const ended = runs - running;
  if (of === "cost") return <Money of={cost} />;
  if (of === "runs" || ended === 0) return formatCount(of === "runs" ? runs : failed);
  const share = `${percentText(failed, ended)} of ${formatCount(ended)} ended`;
  const more = timedOut > 0 && <span>, {formatCount(timedOut)} timed out</span>;
  return [`${formatCount(failed)} `, <small>{share}{more}</small>];
}

/** Compares a sum with the usual one at this time; without hours it names the sum of a usual day. */
function comparison(of: MetricName, now: number, usual: number, usualNow: number | null): Child {
  if (usualNow === null) {
    const text = of === "cost" ? moneyText(BigInt(Math.round(usual))) : formatCount(usual);
    return `usual day: ${text}`;
  }
  const { sign, text, isFarAbove } = compare(now, usualNow, of !== "cost");
  return (
    <span class={of !== "runs" && isFarAbove ? "err-count" : undefined}>
      <span aria-hidden="true">{sign}</span> {text}
    </span>
  );
}

/** Size of a line in its own units. */
const LINE = { width: 116, height: 44 } as const;

/** Draws the sums of today and of a usual day by hour; `passed` is the elapsed fraction. */
function lineOf({ today, usual }: SoFar, now: number, passed: number, isBad: boolean) {
  if (usual.length === 0) return null;
  const top = Math.max(now, ...usual) || 1;
  const point = (at: number, sum: number) =>
    `${(LINE.width * at).toFixed(1)} ${(LINE.height * (1 - sum / top)).toFixed(1)}`;
  const hourly = (sums: readonly number[]) => [0, ...sums].map((sum, i) => point(i / 24, sum));
  const name = isBad ? "now bad" : "now";
  return (
    <svg class="line" viewBox={`0 0 ${LINE.width} ${LINE.height}`} aria-hidden="true">
      <line class="ground" x2={LINE.width} y1={LINE.height} y2={LINE.height} />
      <polyline class="usual" points={hourly(usual).join(" ")} />
      <polyline class={name} points={[...hourly(today), point(passed, now)].join(" ")} />
      <circle class={name} cx={LINE.width * passed} cy={LINE.height * (1 - now / top)} r="2.5" />
    </svg>
  );
}

/** Charts of the days up to today. */
export function Charts({ data: { days, span, usual, hours } }: { readonly data: OverviewData }) {
  const shown = days.filter(({ day }) => day >= span.from);
  return (
    <div class="stack">
      <div class="charts">
        {METRICS.map(({ of, chart, to }) => (
          <Section title={chart}>
            <ColumnChart
              title={`${chart}, ${shown.length} days`}
              columns={shown.map((metrics) => {
                const { day } = metrics;
                const name = day === span.today ? "today" : dayText(day);
                const colour = of === "failed" ? "failed" : "past";
                const title = `${name}: ${describe(of, metrics)}`;
                return { name, title, to: to(day), parts: [[colour, Number(metrics[of])]] };
              })}
              format={(tick) => tickText(of, tick)}
              usual={usual && usual[of]}
            />
          </Section>
        ))}
      </div>
      <p class="soft">
        <Swatch of="failed" /> failed or timed out <Swatch of="now" /> today{" "}
        {usual !== null && [<UsualSwatch />, ` ${usualText(usual.days, hours.days)}`]}
      </p>
    </div>
  );
}

/** Formats a tick. Without any cost the greatest one is a picodollar, which says nothing. */
function tickText(of: MetricName, tick: number): string {
  if (of !== "cost") return formatCount(tick);
  return tick === 1 ? "" : exactMoneyText(BigInt(tick));
}

/** Says which days the usual one is the average of; fewer can be compared by the hour. */
function usualText(days: number, byHour: number): string {
  const text = (count: number) => count === 1 ? "day" : countedText(count, "day");
  return `Usual is the average of the ${text(days)} before today` +
    (byHour > 0 && byHour < days
      ? `; by now, of the ${text(byHour)} whose runs are few enough to read here.`
      : ".");
}

/** Agents listed: those with the highest spend today. */
const AGENTS_SHOWN = 8;

/** The agents that spent most today. */
export function SpendByAgent({ data: { agents, span } }: { readonly data: OverviewData }) {
  const title = "Spend by agent today";
  const to = SPEND_PATH + queryText([["group_by", "agent"], ["from", span.from]]);
  const all = (agents ?? []).reduce((sum, { cost }) => sum + cost, 0n);
  const days = span.days.length - 1;
  const columns: readonly Column<AgentSpend>[] = [
    column(
      "Agent",
      { isName: true, class: "agent-name" },
      ({ agent }) => agent === null ? UNATTRIBUTED : <a href={agentPath(agent)}>{agent}</a>,
    ),
    { head: "Share", class: "shares", cell: ({ cost }) => <ShareBar part={cost} all={all} /> },
    countColumn("Runs", ({ runs }) => runs, "run"),
    numberColumn("Today", ({ cost }) => <Money of={cost} />, "today"),
    numberColumn(
      `${days} days before`,
      ({ before }) => before === null ? "see all" : <Money of={before} />,
      `in ${days} days before`,
    ),
  ];
  const more = (agents?.length ?? 0) - AGENTS_SHOWN;
  return (
    <Section title={title} aside={<a href={to}>All spend by agent</a>}>
      {agents === null
        ? <p>So many agents ran today that this page does not add them up.</p>
        : Table({ label: title, class: "fold", columns, rows: agents.slice(0, AGENTS_SHOWN) })}
      {more > 0 && <p class="foot">{formatCount(more)} more agents spent less.</p>}
    </Section>
  );
}
