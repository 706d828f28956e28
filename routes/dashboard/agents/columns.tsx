/** Columns of the board of agents. */
import type { Child } from "hono/jsx";
import { deadlinesOf } from "../../../domain/monitors/monitor.ts";
import { agentPath } from "../layout/paths.ts";
import { Ago, At, Money, type PageTime, Sign } from "../components/elements.tsx";
import { countedText, dayText, formatCount, percentText } from "../components/format.ts";
import { barsOf, MonitorStatus, scheduleText, Strip, STRIP_DAYS } from "../components/monitor.tsx";
import { type Column, column, NONE, numberColumn } from "../components/table.tsx";
import { BOARD_DAYS, type BoardData, type BoardRow } from "./board_load.ts";
import { CostOfSuccess, durationTexts } from "./metrics.tsx";

/** Returns the columns; a team without monitors has no columns of monitors. */
export function boardColumns(
  { hasMonitors, hasStates }: BoardData,
  { nowMs: now, zone }: PageTime,
): readonly Column<BoardRow>[] {
  const columns: readonly (Column<BoardRow> | false)[] = [
    { head: "Agent", isName: true, class: "name", cell: (row) => nameCell(row, zone) },
    hasStates && { head: "State", class: "state", cell: (row) => MonitorStatus({ of: row, now }) },
    hasMonitors &&
    column(
      `${STRIP_DAYS} days`,
      { class: "days" },
      ({ monitor, flips }) => monitor && <Strip flips={flips} state={monitor.state} now={now} />,
    ),
    column("Last arrival", { class: "last", before: "last" }, ({ activity, monitor }) => {
      const at = activity?.lastSeen ?? monitor?.lastArrivalAt ?? null;
      return at === null ? NONE : <Ago at={at} />;
    }),
    hasMonitors &&
    column("Next expected", { class: "next" }, ({ monitor }) => expectedCell(monitor, now)),
    numberColumn("Running", ({ activity }) => runningCell(activity?.running ?? 0), ""),
    numberColumn("Today", ({ days }) => {
      const runs = days.days.at(-1)?.measures.runs ?? 0;
      return runs === 0 ? <span class="soft">0</span> : formatCount(runs);
    }, "today"),
    numberColumn(`Failed, ${BOARD_DAYS} days`, ({ days }) => failuresCell(days), "failed"),
    numberColumn("Took, p50 / p95", ({ durations }) => tookCell(durations)),
    numberColumn(
      `Cost, ${BOARD_DAYS} days`,
      ({ days: { total } }) => total.cost === 0n ? NONE : <Money of={total.cost} />,
    ),
    numberColumn(
      "Cost per success",
      ({ days: { total } }) => total.cost === 0n ? NONE : <CostOfSuccess measures={total} />,
      "a success costs",
    ),
  ];
  return columns.filter((column) => column !== false);
}

/** The name of an agent, with its slug and its schedule below. */
function nameCell({ agent, name, archived, monitor }: BoardRow, zone: string): Child {
  return [
    <a class="row" id={`agent-${encodeURIComponent(agent)}`} href={agentPath(agent)}>
      {name ?? agent}
    </a>,
    archived && <small class="tag">archived</small>,
    name !== null && <small class="under">{agent}</small>,
    monitor !== null && <small class="under">{scheduleText(monitor, zone)}</small>,
  ];
}

/** The next expected instant, in the colour of the state once it has passed. */
function expectedCell(monitor: BoardRow["monitor"], now: number): Child {
  const expectedAt = monitor && deadlinesOf(monitor).expectedAt;
  if (monitor === null || expectedAt === null) return NONE;
  const colours: Readonly<Record<string, string>> = { down: "err-count", late: "more" };
  return (
    <span class={expectedAt < now ? colours[monitor.state] : undefined}>
      <At at={expectedAt} />, <Ago at={expectedAt} />
    </span>
  );
}

function runningCell(count: number): Child {
  return count === 0 ? NONE : (
    <Sign icon="run">
      {formatCount(count)} <span class="sr">running</span>
    </Sign>
  );
}

function tookCell(durations: BoardRow["durations"]): Child {
  if (durations.length === 0) return NONE;
  const [p50, p95] = durationTexts(durations);
  return (
    <span title={`Of its latest ${countedText(durations.length, "run")}`}>
      {p50} <span class="soft">/ {p95}</span>
    </span>
  );
}

/** Height of the bar of a day on which all runs failed. */
const TREND_HEIGHT = 14;

/** The share of failures, and one bar for the share of each day, which shows a trend. */
function failuresCell({ total, days }: BoardRow["days"]): Child {
  const shareOf = ({ failed, timedOut, runs, running }: typeof total) =>
    [failed + timedOut, runs - running] as const;
  const [failed, ended] = shareOf(total);
  if (ended === 0) return NONE;
  const names = days.map(({ day, measures }) =>
    `${dayText(day)}: ${percentText(...shareOf(measures))}`
  );
  const bars = days.map(({ measures }) => {
    const [bad, all] = shareOf(measures);
    return [["down", Math.round(TREND_HEIGHT * bad / Math.max(1, all))]] as const;
  });
  return [
    <span title={`${formatCount(failed)} of ${formatCount(ended)} that ended`}>
      {percentText(failed, ended)}
    </span>,
    failed > 0 && barsOf(`Failed: ${names.join(", ")}`, bars, TREND_HEIGHT),
  ];
}
