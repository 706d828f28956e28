/** The days of an agent as a chart by status, and the same figures as a table. */
import type { DayOfRuns } from "../../../domain/spend/agent_days.ts";
import { Money, Wide } from "../components/elements.tsx";
import { ColumnChart, Swatch } from "../components/column_chart.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { wordsOf } from "../components/sparkline.tsx";
import { byStatus, STATUS_LABELS, statusText } from "../components/statuses.ts";

interface Days {
  readonly days: readonly DayOfRuns[];
}

/** Draws the runs of each day, by status. */
export function DaysChart({ days }: Days) {
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
        {Object.entries(STATUS_LABELS).map(([status, word]) => (
          <>
            <Swatch of={status} /> {word}
            {" "}
          </>
        ))}
      </p>
    </>
  );
}

/** The same figures, to be opened. */
export function AgentDaysTable({ days }: Days) {
  const used = days.filter(({ measures }) => measures.runs > 0).toReversed();
  return used.length === 0 ? null : (
    <details>
      <summary>The same as a table</summary>
      <Wide label="Runs by day">
        <table class="roomy">
          <thead>
            <tr>
              <th scope="col">Day (UTC)</th>
              <th scope="col" class="number">Runs</th>
              {Object.values(STATUS_LABELS).map((word) => (
                <th scope="col" class="number">{word.charAt(0).toUpperCase() + word.slice(1)}</th>
              ))}
              <th scope="col" class="number">Cost</th>
            </tr>
          </thead>
          <tbody>
            {used.map(({ day, measures }) => (
              <tr>
                <th scope="row">{day}</th>
                <td class="number">{formatCount(measures.runs)}</td>
                {byStatus(measures).map(([, count]) => <td class="number">{formatCount(count)}
                </td>)}
                <td class="number">
                  <Money of={measures.cost} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </details>
  );
}
