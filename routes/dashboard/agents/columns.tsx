/** Columns of the board of agents. */
import { type Child, useContext } from "hono/jsx";
import {
  deadlinesOf,
  type Monitor,
  type MonitorSettings,
} from "../../../domain/monitors/monitor.ts";
import { scheduleWords } from "../../../domain/monitors/schedule.ts";
import type { AgentDays } from "../../../domain/spend/agent_days.ts";
import { agentPath } from "../layout/paths.ts";
import { Money } from "../components/elements.tsx";
import { dayText, durationText, formatCount, percentText } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { MonitorStatus, reasonOf, Strip, STRIP_DAYS } from "../components/monitor.tsx";
import { type Column, numberColumn } from "../components/table.tsx";
import { Ago, At, TimeContext } from "../components/time.tsx";
import { type Board, BOARD_DAYS, type BoardRow } from "./board.ts";
import { CostOfSuccess } from "./metrics.tsx";

/** Returns the columns; those of monitors are left out for a team that has none. */
export function boardColumns(board: Board, now: number): readonly Column<BoardRow>[] {
  const { flips, days, hasMonitors, hasStates } = board;
  const flipsOf = (agent: string) => flips.get(agent) ?? [];
  return [
    { head: "Agent", isName: true, class: "name", cell: Name },
    ...ifAny(hasStates, {
      head: "State",
      class: "state",
      cell: (row: BoardRow) => (
        <StateOf {...row} last={flipsOf(row.record.agent).at(-1) ?? null} now={now} />
      ),
    }),
    ...ifAny(hasMonitors, {
      head: `${STRIP_DAYS} days`,
      class: "days",
      cell: ({ monitor }: BoardRow) =>
        monitor !== null && (
          <Strip flips={flipsOf(monitor.monitor.agent)} state={monitor.monitor.state} now={now} />
        ),
    }),
    {
      head: "Last arrival",
      class: "last",
      before: "last",
      cell: ({ record, monitor }) => {
        const at = record.activity?.lastSeen ?? monitor?.monitor.lastArrivalAt ?? null;
        return at === null ? NONE : <Ago at={at} now={now} />;
      },
    },
    ...ifAny(hasMonitors, {
      head: "Next expected",
      class: "next",
      cell: ({ monitor }: BoardRow) =>
        monitor === null ? NONE : <Expected monitor={monitor.monitor} now={now} />,
    }),
    numberColumn("Running", ({ record }) => <Running count={record.activity?.running ?? 0} />, ""),
    {
      ...numberColumn<BoardRow>("Today", ({ record }) => {
        const runs = days.get(record.agent)?.days.at(-1)?.measures.runs ?? 0;
        return runs === 0 ? <span class="soft">0</span> : formatCount(runs);
      }, "today"),
      class: "num today",
    },
    {
      ...numberColumn<BoardRow>(`Failed, ${BOARD_DAYS} days`, ({ record }) => {
        const total = days.get(record.agent)?.total;
        if (total === undefined) return NONE;
        const failed = total.failed + total.timedOut;
        const ended = total.runs - total.running;
        const title = `${formatCount(failed)} of ${formatCount(ended)} that ended`;
        return ended === 0 ? NONE : (
          <>
            <span title={title}>{percentText(failed, ended)}</span>
            {failed > 0 && <FailureTrend days={days.get(record.agent)?.days ?? []} />}
          </>
        );
      }, "failed"),
      class: "num failures",
    },
    {
      ...numberColumn<BoardRow>(`Cost, ${BOARD_DAYS} days`, ({ record }) => {
        const total = days.get(record.agent)?.total;
        return total === undefined || total.cost === 0n ? NONE : <Money of={total.cost} />;
      }),
      class: "num cost",
    },
    {
      ...numberColumn<BoardRow>("Cost per success", ({ record }) => {
        const total = days.get(record.agent)?.total;
        return total === undefined || total.cost === 0n ? NONE : <CostOfSuccess measures={total} />;
      }, "a success costs"),
      class: "num success-cost",
    },
  ];
}

/** Width of a day with its gap and of its bar, and the height of the trend. */
const SLOT = 6, BAR = 4, HEIGHT = 14;

/** The share of failures of each day, one bar each: is it getting worse? */
function FailureTrend({ days }: { readonly days: AgentDays["days"] }) {
  const bars = days.map(({ day, measures: { runs, running, failed, timedOut } }, i) => {
    const [bad, ended] = [failed + timedOut, runs - running];
    const height = ended === 0 ? 0 : Math.round(HEIGHT * bad / ended);
    return {
      text: `${dayText(Date.parse(day))}: ${percentText(bad, ended)}`,
      path: height === 0 ? "" : `M${i * SLOT} ${HEIGHT}v-${height}h${BAR}v${height}z`,
    };
  });
  return (
    <svg class="strip" role="img" width={days.length * SLOT} height={HEIGHT}>
      <title>{`Failed: ${bars.map(({ text }) => text).join(", ")}`}</title>
      <path class="down" d={bars.map(({ path }) => path).join("")} />
    </svg>
  );
}

const NONE = <span class="soft blank">–</span>;

function ifAny<Row>(hasAny: boolean, column: Column<Row>): readonly Column<Row>[] {
  return hasAny ? [column] : [];
}

/** The name of an agent, with its schedule or its slug below. */
function Name({ record: { agent, name, archived }, monitor }: BoardRow) {
  return (
    <>
      <a class="row" id={`agent-${encodeURIComponent(agent)}`} href={agentPath(agent)}>
        {name ?? agent}
      </a>
      {archived && <small class="tag">archived</small>}
      {name !== null && <small class="under">{agent}</small>}
      {monitor !== null && (
        <small class="under">
          <Schedule {...monitor.monitor.settings} />
        </small>
      )}
    </>
  );
}

/** The schedule in words; a time zone only if times are shown in another one. */
function Schedule({ schedule, graceSeconds }: MonitorSettings) {
  const { zone } = useContext(TimeContext);
  const words = "cron" in schedule && schedule.tz !== zone
    ? `${scheduleWords(schedule)} (${schedule.tz})`
    : scheduleWords(schedule);
  return <>{words}, grace {durationText(graceSeconds * 1_000)}</>;
}

function StateOf({ monitor, incidents, last, now }: BoardRow & {
  readonly last: Parameters<typeof reasonOf>[0]["last"];
  readonly now: number;
}) {
  const reason = monitor && reasonOf({ ...monitor, last, now });
  return (
    <>
      <MonitorStatus monitor={monitor?.monitor ?? null} incidents={incidents} />
      {reason !== null && <small class="under">{reason}</small>}
    </>
  );
}

/** The next expected instant, in the colour of the state once it has passed. */
function Expected({ monitor, now }: { readonly monitor: Monitor; readonly now: number }): Child {
  const { expectedAt } = deadlinesOf(monitor);
  if (expectedAt === null) return NONE;
  const isPast = expectedAt < now && (monitor.state === "late" || monitor.state === "down");
  return (
    <span class={isPast ? (monitor.state === "down" ? "err-count" : "more") : undefined}>
      <At at={expectedAt} />, <Ago at={expectedAt} now={now} />
    </span>
  );
}

function Running({ count }: { readonly count: number }) {
  if (count === 0) return NONE;
  return (
    <span class="st st-run">
      <Icon name="run" />
      <span>
        {formatCount(count)} <span class="sr">running</span>
      </span>
    </span>
  );
}
