/** Charts of the days up to today: runs with their failures, and cost. */
import { queryText, RUNS_PATH } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import { Money } from "../components/elements.tsx";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import { ColumnChart, Swatch } from "../components/column_chart.tsx";
import { countedText, formatCount, moneyText, percentText } from "../components/format.ts";
import { type DayMetrics, DAYS_BEFORE, usualDayOf } from "./day_metrics.ts";
import type { Overview } from "./read.ts";

export function Charts({ of: { days, span } }: { readonly of: Overview }) {
  const usual = usualDayOf(days.slice(0, -1));
  const ends = [dateText(span.from), "today"] as const;
  const mostRuns = Math.max(...days.map(({ runs }) => runs), usual?.runs ?? 0);
  const mostCost = days.reduce((most, { cost }) => cost > most ? cost : most, usual?.cost ?? 0n);
  return (
    <div class="halves">
      <ChartSection name="Runs by day" legend={<RunsLegend hasUsual={usual !== null} />}>
        <ColumnChart
          title={runsTitle(days)}
          columns={days.map((day) => ({
            title: `${day.day}: ${countedText(day.runs, "run")}, ${
              formatCount(day.failed)
            } failed or timed out`,
            parts: [
              ["failed", day.failed - day.timedOut],
              ["timeout", day.timedOut],
              ["c1", day.runs - day.failed],
            ],
          }))}
          ends={ends}
          top={formatCount(mostRuns)}
          usual={usual?.runs ?? null}
        />
      </ChartSection>
      <ChartSection name="Cost by day" legend={<CostLegend hasUsual={usual !== null} />}>
        <ColumnChart
          title={`Cost of each day of the last ${DAYS_BEFORE} days and today; the table below has the figures`}
          columns={days.map((day) => ({
            title: `${day.day}: ${moneyText(day.cost)}`,
            parts: [["c3", Number(day.cost)]],
          }))}
          ends={ends}
          top={moneyText(mostCost)}
          usual={usual === null ? null : Number(usual.cost)}
        />
      </ChartSection>
    </div>
  );
}

function runsTitle(days: readonly DayMetrics[]): string {
  const failed = days.reduce((sum, day) => sum + day.failed, 0);
  const runs = days.reduce((sum, day) => sum + day.runs, 0);
  return `Runs of each day of the last ${DAYS_BEFORE} days and today: ${
    countedText(runs, "run")
  }, ` +
    `${formatCount(failed)} of them failed or timed out; the table below has the figures`;
}

function ChartSection(
  { name, legend, children }: {
    readonly name: string;
    readonly legend: Child;
    readonly children?: Child;
  },
) {
  return (
    <section>
      <h2>{name}</h2>
      {children}
      <p class="below-chart">{legend}</p>
    </section>
  );
}

function RunsLegend({ hasUsual }: { readonly hasUsual: boolean }) {
  return (
    <>
      <Swatch of="c1" /> other runs <Swatch of="failed" /> failed <Swatch of="timeout" /> timed out
      {hasUsual ? <UsualSwatch /> : null}
    </>
  );
}

function CostLegend({ hasUsual }: { readonly hasUsual: boolean }) {
  return (
    <>
      <Swatch of="c3" /> cost{hasUsual ? <UsualSwatch /> : null}
    </>
  );
}

function UsualSwatch() {
  return (
    <>
      {" "}
      <svg class="columns in-text" width="18" height="10" aria-hidden="true">
        <line class="usual" x1="0" x2="18" y1="5" y2="5" />
      </svg>{" "}
      a usual day
    </>
  );
}

/** The same metrics as a table. */
export function DaysTable({ of: { days } }: { readonly of: Overview }) {
  return (
    <details>
      <summary>The same as a table</summary>
      <Table
        label="Figures by day"
        caption={
          <caption class="soft">
            By UTC day of the runs' start. Failed are those that failed or timed out, also as a
            share of the runs that ended.
          </caption>
        }
        columns={DAY_COLUMNS}
        rows={days.toReversed().map((metrics, i) => ({ ...metrics, isToday: i === 0 }))}
      />
    </details>
  );
}

interface DayRow extends DayMetrics {
  readonly isToday: boolean;
}

const DAY_COLUMNS: readonly Column<DayRow>[] = [
  { head: "Day", isName: true, cell: ({ day, isToday }) => <DayLink {...{ day, isToday }} /> },
  numberColumn("Runs", ({ runs }) => formatCount(runs)),
  numberColumn("Failed", ({ failed }) => formatCount(failed)),
  numberColumn("Share", ({ failed, runs, running }) => percentText(failed, runs - running)),
  numberColumn("Cost", ({ cost }) => <Money of={cost} />),
];

function DayLink({ day, isToday }: Pick<DayRow, "day" | "isToday">) {
  return (
    <>
      <a href={`${RUNS_PATH}${queryText([["from", day], ["to", day]])}`}>{day}</a>
      {isToday ? " (today, so far)" : null}
    </>
  );
}

const date = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });

/** Formats a day `YYYY-MM-DD` briefly: `Nov 8`. */
function dateText(day: string): string {
  return date.format(Date.parse(day));
}
