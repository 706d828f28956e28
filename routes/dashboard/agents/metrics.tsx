/** Metrics of an agent, and the runs of its days by status as charts and as a table. */
import type { AgentDays, DayOfRuns } from "../../../domain/spend/agent_days.ts";
import type { Measures } from "../../../domain/runs/summary.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import { costPerSuccess } from "../../../domain/spend/spend.ts";
import { Money } from "../components/elements.tsx";
import { ColumnChart, Legend } from "../components/column_chart.tsx";
import {
  capitalized,
  countedText,
  dayText,
  durationText,
  formatCount,
} from "../components/format.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";

/** Labels for runs of a status, whose name is also the class of its colour. */
export const STATUS_LABELS: Readonly<Record<RunStatus, string>> = {
  failed: "failed",
  timeout: "timed out",
  cancelled: "cancelled",
  running: "running",
  success: "succeeded",
};

/** Returns the runs of each status, in the order that charts stack them from the bottom up. */
function byStatus({ runs, succeeded, failed, timedOut, running }: Measures) {
  return [
    ["failed", failed],
    ["timeout", timedOut],
    ["cancelled", runs - succeeded - failed - timedOut - running],
    ["running", running],
    ["success", succeeded],
  ] as const;
}

const dayName = ({ day }: DayOfRuns) => dayText(day);

/** Describes the chart in one sentence. */
function summaryOf({ total: { runs, running, succeeded }, days }: AgentDays): string {
  if (runs === 0) return `No run in ${days.length} days`;
  const most = days.reduce((a, b) => b.measures.runs > a.measures.runs ? b : a);
  const lost = `${formatCount(runs - succeeded - running)} without success`;
  return `${countedText(runs, "run")} in ${days.length} days, ${lost}, ` +
    `${formatCount(running)} running; most on ${dayName(most)}: ${formatCount(most.measures.runs)}`;
}

/** Draws the runs of each day, by status; the same metrics as a table are folded until opened. */
export function DaysChart({ total, days }: AgentDays) {
  const used = days.filter(({ measures }) => measures.runs > 0).toReversed();
  return (
    <>
      <ColumnChart
        title={summaryOf({ total, days })}
        columns={days.map((day) => ({
          name: dayName(day),
          title: [
            `${dayName(day)}: ${countedText(day.measures.runs, "run")}`,
            ...byStatus(day.measures).toReversed().filter(([, count]) => count > 0)
              .map(([status, count]) => `${formatCount(count)} ${STATUS_LABELS[status]}`),
          ].join(", "),
          parts: byStatus(day.measures),
        }))}
        format={formatCount}
      />
      <Legend of={Object.entries(STATUS_LABELS)} />
      {used.length > 0 && (
        <details>
          <summary>The same as a table</summary>
          <Table label="Runs by day" class="roomy" columns={COLUMNS} rows={used} />
        </details>
      )}
    </>
  );
}

const COLUMNS: readonly Column<DayOfRuns>[] = [
  { head: "Day (UTC)", isName: true, cell: dayName },
  numberColumn("Runs", ({ measures }) => formatCount(measures.runs)),
  ...Object.values(STATUS_LABELS).map((label, i) =>
    numberColumn(
      capitalized(label),
      ({ measures }: DayOfRuns) => formatCount(byStatus(measures)[i]?.[1] ?? 0),
    )
  ),
  numberColumn("Cost", ({ measures }) => <Money of={measures.cost} />),
];

/** Total cost divided by the number of successful runs. */
export function CostOfSuccess({ measures }: { readonly measures: Measures }) {
  const cost = costPerSuccess(measures);
  if (cost !== null) return <Money of={cost} />;
  return measures.cost === 0n ? <>–</> : (
    <span title="Nothing succeeded">
      no success, <Money of={measures.cost} />
    </span>
  );
}

/** Returns the median and the 95th percentile of sorted durations, by the nearest rank. */
export function durationTexts(sorted: readonly number[]): readonly string[] {
  return [0.5, 0.95].map((share) =>
    durationText(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0)
  );
}
