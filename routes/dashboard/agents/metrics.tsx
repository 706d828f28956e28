/** Metrics of an agent, and the runs of its days by status as charts and as a table. */
import type { AgentActivity } from "../../../domain/agents/activity.ts";
import {
  AGENT_DAYS,
  type AgentDays,
  type DayOfRuns,
  daysOfAgents,
} from "../../../domain/spend/agent_days.ts";
import type { SpendStore } from "../../../domain/spend/rollup.ts";
import { daysOf } from "../../../domain/spend/spend_query.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { dayOf } from "../../../domain/core/time.ts";
import type { Measures } from "../../../domain/runs/contribution.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import { Money, Status } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import { costPerSuccess } from "../../../domain/spend/spend.ts";
import { runPath } from "../layout/paths.ts";
import { ColumnChart, Swatch } from "../components/column_chart.tsx";
import { countedText, dayText, formatCount, percentText } from "../components/format.ts";
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

/** Counts runs that ended without success. */
function lostOf({ runs, succeeded, running }: Measures): number {
  return runs - succeeded - running;
}

/** Describes the chart in one sentence. */
function summaryOf({ total, days }: AgentDays): string {
  const { runs, running } = total;
  if (runs === 0) return `No run in ${days.length} days`;
  const stillRunning = ` and ${formatCount(running)} ${running === 1 ? "is" : "are"} running`;
  const most = days.reduce((a, b) => b.measures.runs > a.measures.runs ? b : a);
  return `${countedText(runs, "run")} in ${days.length} days, of which ` +
    `${formatCount(lostOf(total))} did not succeed${running === 0 ? "" : stillRunning}; ` +
    `most on ${dayText(Date.parse(most.day))}: ${formatCount(most.measures.runs)}`;
}

/** Draws the runs of each day, by status; the same metrics as a table are folded until opened. */
export function DaysChart({ total, days }: AgentDays) {
  const used = days.filter(({ measures }) => measures.runs > 0).toReversed();
  return (
    <>
      <ColumnChart
        title={summaryOf({ total, days })}
        columns={days.map(({ day, measures }) => ({
          name: dayText(Date.parse(day)),
          title: [
            `${dayText(Date.parse(day))}: ${countedText(measures.runs, "run")}`,
            ...byStatus(measures).toReversed().filter(([, count]) => count > 0)
              .map(([status, count]) => `${formatCount(count)} ${STATUS_LABELS[status]}`),
          ].join(", "),
          parts: byStatus(measures),
        }))}
        format={formatCount}
      />
      <p class="below-chart">
        {Object.entries(STATUS_LABELS).map(([status, label]) => (
          <>
            <Swatch of={status} /> {label}
            {" "}
          </>
        ))}
      </p>
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
  { head: "Day (UTC)", isName: true, cell: ({ day }) => dayText(Date.parse(day)) },
  numberColumn("Runs", ({ measures }) => formatCount(measures.runs)),
  ...Object.values(STATUS_LABELS).map((label, i) =>
    numberColumn(
      label.charAt(0).toUpperCase() + label.slice(1),
      ({ measures }: DayOfRuns) => formatCount(byStatus(measures)[i]?.[1] ?? 0),
    )
  ),
  numberColumn("Cost", ({ measures }) => <Money of={measures.cost} />),
];

interface ActivityProps {
  readonly activity: AgentActivity | null;
}

/** The share of ended runs that succeeded. */
export function SuccessRate({ activity }: ActivityProps) {
  if (activity === null) return <>–</>;
  const { runs, running, succeeded } = activity;
  const ended = runs - running;
  const exact = `${formatCount(succeeded)} of ${countedText(ended, "run")} that ended`;
  return <span title={exact}>{percentText(succeeded, ended)}</span>;
}

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

/** The status of the last run, as a link to it. */
export function LastRunOf({ activity, now }: ActivityProps & { readonly now: number }) {
  const last = activity?.lastRun ?? null;
  return last === null ? <>–</> : (
    <span class="last-run">
      <a href={runPath(last.id)}>
        <Status of={last.status} />
      </a>{" "}
      <span class="soft">
        <Ago at={last.startedAt} now={now} />
      </span>
    </span>
  );
}

/**
 * Reads the last days of the given agents, by slug: one row per day and agent, regardless of the
 * size of the team.
 */
export async function readDays(
  spend: SpendStore,
  team: Team,
  agents: readonly string[],
  nowMs: number,
  count = AGENT_DAYS,
) {
  const from = dayOf(nowMs - (count - 1) * 86_400_000);
  const days = daysOf({ from, to: dayOf(nowMs) });
  const groups = agents.map((value) => ({ kind: "agent" as const, value }));
  return daysOfAgents(await spend.some(team, groups, days), agents, days);
}
