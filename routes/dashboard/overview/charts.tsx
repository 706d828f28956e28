/** Charts of the days up to today: failures, runs and cost. */
import { queryText, RUNS_PATH } from "../layout/paths.ts";
import { Section } from "../components/elements.tsx";
import { ColumnChart, Swatch, UsualSwatch } from "../components/column_chart.tsx";
import {
  countedText,
  dayText,
  exactMoneyText,
  formatCount,
  moneyText,
} from "../components/format.ts";
import { FAILURES } from "../components/run_columns.tsx";
import type { OverviewData } from "./overview_load.ts";
import type { DayMetrics, UsualDay } from "./overview_view.ts";

/** Path of the runs of a day, with their child runs: the list has as many as are counted. */
export function dayRunsPath(day: string, isFailed = false): string {
  const statuses = isFailed ? FAILURES.map((status) => ["status", status] as const) : [];
  return RUNS_PATH + queryText([...statuses, ["from", day], ["to", day], ["root", "false"]]);
}

interface Chart {
  readonly title: string;
  /** Class of the colour, and the class and label of its sample. */
  readonly colour: string;
  readonly sample: readonly [string, string];
  readonly sizeOf: (day: DayMetrics | UsualDay) => number;
  readonly format: (size: number) => string;
  /** Describes a day after its name. */
  readonly textOf: (day: DayMetrics) => string;
}

const CHARTS: readonly Chart[] = [
  {
    title: "Failures a day",
    colour: "failed",
    sample: ["failed", "failed or timed out"],
    sizeOf: ({ failed }) => failed,
    format: formatCount,
    textOf: ({ runs, failed, timedOut }) =>
      `${formatCount(failed)} of ${countedText(runs, "run")} failed` +
      (timedOut === 0 ? "" : `, ${formatCount(timedOut)} timed out`),
  },
  {
    title: "Runs a day",
    colour: "past",
    sample: ["now", "today"],
    sizeOf: ({ runs }) => runs,
    format: formatCount,
    textOf: ({ runs, failed, running }) =>
      `${countedText(runs, "run")}, ${formatCount(failed)} failed` +
      (running === 0 ? "" : `, ${formatCount(running)} running`),
  },
  {
    title: "Cost a day",
    colour: "past",
    sample: ["now", "today"],
    sizeOf: ({ cost }) => Number(cost),
    format: (tick) => exactMoneyText(BigInt(tick)),
    textOf: ({ cost, runs }) => `${moneyText(cost)}, ${countedText(runs, "run")}`,
  },
];

type ChartsProps = Pick<OverviewData, "days" | "span" | "usual" | "hours">;

export function Charts({ days, span, usual, hours }: ChartsProps) {
  const shown = days.filter(({ day }) => day >= span.from);
  const nameOf = (day: string) => day === span.today ? "today" : dayText(Date.parse(day));
  return (
    <>
      <div class="cols three">
        {CHARTS.map(({ title, colour, sample: [swatch, label], sizeOf, format, textOf }) => (
          <Section
            title={title}
            aside={
              <small class="soft">
                <Swatch of={swatch} /> {label} {usual !== null && <UsualSwatch />}
                {usual !== null && "usual"}
              </small>
            }
          >
            <ColumnChart
              title={`${title}, ${shown.length} days`}
              columns={shown.map((of) => ({
                name: nameOf(of.day),
                title: `${nameOf(of.day)}: ${textOf(of)}`,
                to: dayRunsPath(of.day, colour === "failed"),
                parts: [[colour, sizeOf(of)]],
              }))}
              format={format}
              usual={usual && sizeOf(usual)}
            />
          </Section>
        ))}
      </div>
      {usual !== null && (
        <p class="soft">
          Usual is the average of the {daysText(usual.days)}{" "}
          before today{hours.days > 0 && hours.days < usual.days &&
            `; by now, of the ${daysText(hours.days)} whose runs are few enough to read here`}.
        </p>
      )}
    </>
  );
}

function daysText(days: number): string {
  return days === 1 ? "day" : countedText(days, "day");
}
