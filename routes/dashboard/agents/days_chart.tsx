/** The days of an agent as a chart by status, and the same metrics as a table. */
import type { DayOfRuns } from "../../../domain/spend/agent_days.ts";
import { Money } from "../components/elements.tsx";
import { ColumnChart, Swatch } from "../components/column_chart.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { wordsOf } from "../components/sparkline.tsx";
import { byStatus, STATUS_LABELS, statusText } from "../components/statuses.ts";
import { type Column, Table } from "../components/table.tsx";

interface DaysProps {
  readonly days: readonly DayOfRuns[];
}

/** Draws the runs of each day, by status. */
export function DaysChart({ days }: DaysProps) {
  const most = Math.max(...days.map(({ measures }) => measures.runs));
  return (
    <>
      <ColumnChart
        title={wordsOf(days)}
        columns={days.map(({ day, measures }) => ({
          title: [`${day}: ${countedText(measures.runs, "run")}`, statusText(measures)]
            .filter((text) => text !== "").join(", "),
          parts: byStatus(measures),
        }))}
        ends={[days[0]?.day ?? "", "today"]}
        top={formatCount(most)}
        usual={null}
      />
      <p class="below-chart">
        {Object.entries(STATUS_LABELS).map(([status, label]) => (
          <>
            <Swatch of={status} /> {label}
            {" "}
          </>
        ))}
      </p>
    </>
  );
}

const COLUMNS: readonly Column<DayOfRuns>[] = [
  { head: "Day (UTC)", isName: true, cell: ({ day }) => day },
  { head: "Runs", class: "number", cell: ({ measures }) => formatCount(measures.runs) },
  ...Object.values(STATUS_LABELS).map((label, i) => ({
    head: label.charAt(0).toUpperCase() + label.slice(1),
    class: "number",
    cell: ({ measures }: DayOfRuns) => formatCount(byStatus(measures)[i]?.[1] ?? 0),
  })),
  { head: "Cost", class: "number", cell: ({ measures }) => <Money of={measures.cost} /> },
];

/** The same metrics, folded until opened. */
export function AgentDaysTable({ days }: DaysProps) {
  const used = days.filter(({ measures }) => measures.runs > 0).toReversed();
  return used.length === 0 ? null : (
    <details>
      <summary>The same as a table</summary>
      <Table label="Runs by day" class="roomy" columns={COLUMNS} rows={used} />
    </details>
  );
}
