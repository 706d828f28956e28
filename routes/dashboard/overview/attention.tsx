/** Lists of what needs attention and of what runs now. */
import type { Child } from "hono/jsx";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { deadlinesOf, type Monitor } from "../../../domain/monitors/monitor.ts";
import { scheduleWords } from "../../../domain/monitors/schedule.ts";
import {
  agentPath,
  AGENTS_PATH,
  ALERTS_PATH,
  queryText,
  runPath,
  RUNS_PATH,
  SPEND_PATH,
} from "../layout/paths.ts";
import { IncidentEntry } from "../alerts/entries.tsx";
import { FeedEntry, Section } from "../components/elements.tsx";
import { FAILURES } from "../components/run_columns.tsx";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { percent } from "../components/column_chart.tsx";
import { MONITOR_LABELS } from "../components/monitor.tsx";
import { Ago, At } from "../components/time.tsx";
import { nameOf } from "../runs/runs_view.ts";
import { type OverviewData, SHOWN } from "./overview_load.ts";
import {
  type DayMetrics,
  type FailureGroup,
  failureGroups,
  type OpenRun,
  silentMonitors,
} from "./overview_view.ts";

/** Open runs shown. */
const RUNS_SHOWN = 8;

interface AttentionProps extends Pick<OverviewData, "attention" | "lines" | "days"> {
  /** Number of open incidents. */
  readonly open: number;
  readonly nowMs: number;
  /** True to show nothing when all is well. */
  readonly isOptional?: boolean;
}

/** Lists incidents, agents that are down or late, stuck runs, failures, calls without a price. */
export function NeedsAttention(props: AttentionProps) {
  const { attention, lines, days, open, nowMs, isOptional = false } = props;
  const { incidents, stuck } = attention;
  const monitors = silentMonitors(attention.monitors, incidents);
  const failures = failureGroups(attention.failures, incidents, lines);
  const unpriced = sumOf(days, "unpricedCalls");
  const uncounted = sumOf(days, "uncountedCalls");
  const count = open + monitors.length + stuck.length + failures.length +
    Number(unpriced + uncounted > 0);
  if (count === 0 && isOptional) return null;
  return (
    <Section
      id="attention"
      title="Needs attention"
      tag={count === 0 ? undefined : formatCount(count)}
      aside={
        <>
          {stuck.length > SHOWN && <a href={RUNNING_PATH}>All open runs</a>}
          {monitors.length > 0 && <a href={AGENTS_PATH}>All agents</a>}
          <a href={FAILED_PATH}>All failures</a>
          <a href={ALERTS_PATH}>All alerts</a>
        </>
      }
    >
      {count === 0 && (
        <p class="quiet">No incident is open, no agent is late, and nothing failed in 24 hours.</p>
      )}
      <ul class="feed">
        {incidents.map((incident) => <IncidentEntry incident={incident} now={nowMs} />)}
        {monitors.slice(0, SHOWN).map((monitor) => <AgentEntry monitor={monitor} now={nowMs} />)}
        {stuck.slice(0, SHOWN).map((run) => stuckEntry(run, nameOf(run, lines.get(run.id)), nowMs))}
        {failures.slice(0, SHOWN).map((group) => failureEntry(group, nowMs))}
        {unpriced + uncounted > 0 && <UnpricedEntry unpriced={unpriced} uncounted={uncounted} />}
      </ul>
    </Section>
  );
}

const RUNNING_PATH = RUNS_PATH + queryText([["status", "running"]]);
const FAILED_PATH = RUNS_PATH + queryText(FAILURES.map((status) => ["status", status] as const));

function sumOf(days: readonly DayMetrics[], name: "unpricedCalls" | "uncountedCalls"): number {
  return days.reduce((sum, day) => sum + day[name], 0);
}

interface MonitorEntryProps {
  readonly monitor: Monitor;
  readonly now: number;
}

function AgentEntry({ monitor, now }: MonitorEntryProps) {
  const { agent, state, since, settings, lastArrivalAt } = monitor;
  const { expectedAt, downAfter } = deadlinesOf(monitor);
  const [word, icon] = MONITOR_LABELS[state];
  return (
    <FeedEntry
      to={agentPath(agent)}
      icon={icon}
      name={`st-${state}`}
      title={`${agent} is ${word.toLowerCase()}`}
      end={<Ago at={since} now={now} />}
    >
      {expectedAt !== null && expectedAt <= now && (
        <>
          <span class={state === "down" ? "err-count" : "more"}>
            Expected <At at={expectedAt} />
          </span>
          {state === "late" && downAfter !== null && (
            <>
              , goes down <At at={downAfter} />
            </>
          )}.{" "}
        </>
      )}
      {scheduleWords(settings.schedule)}.
      {lastArrivalAt !== null && (
        <>
          {" "}Last arrival <At at={lastArrivalAt} />.
        </>
      )}
    </FeedEntry>
  );
}

interface RunEntryProps {
  readonly run: RunListRow;
  readonly name: string;
  readonly icon: "late" | "timeout" | "bad";
  readonly end: Child;
  readonly reason: Child;
  /** Number of runs that failed alike. */
  readonly count?: number;
}

function RunEntry({ run, name, icon, end, reason, count = 1 }: RunEntryProps) {
  const labels = [run.agent, run.customerId, count > 1 ? `${formatCount(count)} runs` : null];
  return (
    <FeedEntry to={runPath(run.id)} icon={icon} name={`st-${icon}`} title={name} end={end}>
      <span class={icon === "bad" ? "err-count" : "more"}>{reason}</span>
      {labels.map((label) => label !== null && ` · ${label}`)}
    </FeedEntry>
  );
}

function stuckEntry(run: RunListRow, name: string, nowMs: number) {
  const startedAt = run.startedAt ?? run.receivedAt;
  const reason = (
    <>
      Does not end: open since <At at={startedAt} />
    </>
  );
  return (
    <RunEntry
      run={run}
      name={name}
      icon="late"
      end={durationText(nowMs - startedAt)}
      reason={reason}
    />
  );
}

function failureEntry({ run, name, reason, count }: FailureGroup, nowMs: number) {
  const [icon, word] = run.status === "timeout"
    ? ["timeout", "Timed out"] as const
    : ["bad", "Failed"] as const;
  return (
    <RunEntry
      run={run}
      name={name}
      icon={icon}
      end={<Ago at={run.finishedAt ?? run.receivedAt} now={nowMs} />}
      reason={reason === null || reason === name ? word : reason}
      count={count}
    />
  );
}

interface UnpricedProps {
  readonly unpriced: number;
  readonly uncounted: number;
}

function UnpricedEntry({ unpriced, uncounted }: UnpricedProps) {
  const all = unpriced + uncounted;
  const lacks = [...unpriced > 0 ? ["no price"] : [], ...uncounted > 0 ? ["no token counts"] : []];
  return (
    <FeedEntry
      to={`${SPEND_PATH}#unpriced`}
      icon="warn"
      name="st-warn"
      title={`${countedText(all, "call")} ${all === 1 ? "has" : "have"} ${lacks.join(" or ")}`}
      end={unpriced > 0 ? "Add a price" : "See the models"}
    >
      {all === 1 ? "It counts" : "They count"} as $0, so costs are too low
    </FeedEntry>
  );
}

interface RunningProps {
  readonly runs: readonly OpenRun[];
  /** Number of open runs; null for very many. */
  readonly count: number | null;
}

/** Lists open runs, each with its time as a bar with a mark at the usual time. */
export function RunningNow({ runs, count }: RunningProps) {
  return (
    <Section
      id="running"
      title="Running now"
      tag={count === null ? "1,000+" : formatCount(count)}
      aside={<a href={RUNNING_PATH}>All</a>}
    >
      {runs.length === 0 ? <p class="quiet">Nothing runs.</p> : (
        <ul class="feed">
          {runs.slice(0, RUNS_SHOWN).map((open) => <RunningEntry open={open} />)}
        </ul>
      )}
    </Section>
  );
}

function RunningEntry({ open }: { readonly open: OpenRun }) {
  const { run, name, openMs, usualMs, isFarOver } = open;
  const end: Child = (
    <>
      {durationText(openMs)}
      <br />
      <span class={isFarOver ? "more" : undefined}>
        {usualMs === null ? "usual unknown" : `usual ${durationText(usualMs)}`}
      </span>
    </>
  );
  return (
    <FeedEntry to={runPath(run.id)} icon="run" name="st-run" title={name} end={end}>
      {[run.agent, run.customerId].filter(Boolean).join(" · ")}
      {usualMs !== null && <Load openMs={openMs} usualMs={usualMs} isFarOver={isFarOver} />}
    </FeedEntry>
  );
}

/** Fraction of a bar at which its mark is, unless the run takes longer. */
const MARK = 0.75;

type LoadProps = Pick<OpenRun, "openMs" | "isFarOver"> & { readonly usualMs: number };

function Load({ openMs, usualMs, isFarOver }: LoadProps) {
  const all = Math.max(openMs, usualMs / MARK);
  const width = percent(100 * openMs / all);
  return (
    <svg class="load" width="100%" height="4" aria-hidden="true">
      <rect class="track" width="100%" height="4" rx="2" />
      <rect class={isFarOver ? "far" : "now"} width={width} height="4" rx="2" />
      <rect class="mark" x={percent(100 * usualMs / all)} width="1.5" height="4" />
    </svg>
  );
}
