/** Charts of the days up to today: runs with their failures, and cost. */
import { queryText, RUNS_PATH } from "../layout/paths.ts";
import { Money, Section } from "../components/elements.tsx";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import { ColumnChart, Swatch } from "../components/column_chart.tsx";
import { countedText, dayText, formatCount, moneyText, percentText } from "../components/format.ts";
import { type DayMetrics, DAYS_BEFORE } from "./day_metrics.ts";
import type { Overview } from "./read.ts";

export function Charts({ days, span, usual }: Overview) {
  const ends = [dayText(Date.parse(span.from)), "today"] as const;
  const sum = (of: (day: DayMetrics) => number) => days.reduce((all, day) => all + of(day), 0);
  const runs = countedText(sum((day) => day.runs), "run");
  const failed = formatCount(sum((day) => day.failed));
  const mostRuns = Math.max(...days.map(({ runs }) => runs), usual?.runs ?? 0);
  const mostCost = days.reduce((most, { cost }) => cost > most ? cost : most, usual?.cost ?? 0n);
  const period = `of each day of the last ${DAYS_BEFORE} days and today`;
  return (
    <div class="cols two">
      <Section title="Runs by day">
        <ColumnChart
          title={`Runs ${period}: ${runs}, ${failed} of them failed or timed out; the table below has the numbers`}
          columns={days.map(({ day, runs, failed, timedOut }) => ({
            title: `${day}: ${countedText(runs, "run")}, ${
              formatCount(failed)
            } failed or timed out`,
            parts: [["failed", failed - timedOut], ["timeout", timedOut], ["past", runs - failed]],
          }))}
          ends={ends}
          top={formatCount(mostRuns)}
          usual={usual?.runs ?? null}
        />
        <p class="below-chart">
          <Swatch of="past" /> other runs <Swatch of="failed" /> failed <Swatch of="timeout" />{" "}
          timed out{usual !== null && <UsualSwatch />}
        </p>
      </Section>
      <Section title="Cost by day">
        <ColumnChart
          title={`Cost ${period}; the table below has the numbers`}
          columns={days.map(({ day, cost }) => ({
            title: `${day}: ${moneyText(cost)}`,
            parts: [["past", Number(cost)]],
          }))}
          ends={ends}
          top={moneyText(mostCost)}
          usual={usual === null ? null : Number(usual.cost)}
        />
        <p class="below-chart">
          <Swatch of="past" /> cost{usual !== null && <UsualSwatch />}
        </p>
      </Section>
    </div>
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
export function DaysTable({ days, span }: Overview) {
  return (
    <details class="more">
      <summary>The same as a table</summary>
      <Table
        label="Figures by day"
        caption={
          <caption class="soft">
            By UTC day of the runs' start. Failed are those that failed or timed out, also as a
            share of the runs that ended.
          </caption>
        }
        columns={columnsAt(span.today)}
        rows={days.toReversed()}
      />
    </details>
  );
}

function columnsAt(today: string): readonly Column<DayMetrics>[] {
  return [
    {
      head: "Day",
      isName: true,
      cell: ({ day }) => (
        <>
          <a href={`${RUNS_PATH}${queryText([["from", day], ["to", day]])}`}>{day}</a>
          {day === today && " (today, so far)"}
        </>
      ),
    },
    numberColumn("Runs", ({ runs }) => formatCount(runs)),
    numberColumn("Failed", ({ failed }) => formatCount(failed)),
    numberColumn("Share", ({ failed, runs, running }) => percentText(failed, runs - running)),
    numberColumn("Cost", ({ cost }) => <Money of={cost} />),
  ];
}
