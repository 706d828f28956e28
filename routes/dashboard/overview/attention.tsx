/** What needs attention: open incidents, agents that are down or late, runs that do not end. */
import type { OpenIncidents } from "../../../domain/alerts/store.ts";
import { deadlinesOf, type Monitor } from "../../../domain/monitors/monitor.ts";
import { scheduleWords } from "../../../domain/monitors/schedule.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import {
  agentPath,
  AGENTS_PATH,
  ALERTS_PATH,
  queryText,
  runPath,
  RUNS_PATH,
} from "../layout/paths.ts";
import { IncidentEntry } from "../alerts/entries.tsx";
import { readOpenList } from "../alerts/open_list.tsx";
import { Section } from "../components/elements.tsx";
import { readFailures } from "../components/failures.ts";
import { durationText, formatCount } from "../components/format.ts";
import { FeedEntry } from "../components/feed.tsx";
import { MONITOR_LABELS } from "../components/monitor.tsx";
import { STUCK_MS } from "../components/run_state.tsx";
import { Ago, At } from "../components/time.tsx";

/** Entries shown of each kind. */
const SHOWN = 5;

/** Agents read of each state; the latest changes are shown. */
const READ_MAX = 50;

/** Latest failures that are read to find runs that were closed because they were idle. */
const FAILURES_READ = 25;

/** Age up to which the last sign of life of an idle run needs attention, milliseconds. */
const SILENT_MS_MAX = 86_400_000;

/** What needs attention, each list in its order; one more than is shown says that there are more. */
export type Attention = Awaited<ReturnType<typeof readAttention>>;

/** Reads what needs attention, each part by a bounded range. */
export async function readAttention(
  deps: AppDeps,
  team: Team,
  now: number,
  open: OpenIncidents,
) {
  const { monitors, runList } = deps;
  const agents = (state: "down" | "late") =>
    monitors.list(team, { state, limit: READ_MAX, after: null });
  const recent = { from: now - 2 * SILENT_MS_MAX, to: null };
  const [incidents, down, late, stuck, failures] = await Promise.all([
    readOpenList(deps, team, open, SHOWN),
    agents("down"),
    agents("late"),
    runList.page(team, { status: "running", from: null, to: now - STUCK_MS }, null, SHOWN + 1),
    readFailures(runList, team, recent, FAILURES_READ),
  ]);
  const silent = failures.filter(({ closedBy, finishedAt }) =>
    closedBy === "idle" && (finishedAt ?? 0) > now - SILENT_MS_MAX
  );
  // An incident says it already.
  const missed = new Set(
    incidents.map(({ kind, group }) => kind === "missed" ? group.agent : null),
  );
  const named = new Set(incidents.flatMap(({ kind, runs }) => kind === "stuck" ? runs : []));
  return {
    incidents,
    down: latest(down).filter(({ agent }) => !missed.has(agent)),
    late: latest(late),
    stuck: stuck.rows.filter(({ id }) => !named.has(id)),
    silent,
  };
}

function latest({ monitors }: Awaited<ReturnType<AppDeps["monitors"]["list"]>>): Monitor[] {
  return monitors.map(({ monitor }) => monitor).sort((a, b) => b.since - a.since);
}

interface AttentionProps {
  readonly attention: Attention;
  /** Number of open incidents. */
  readonly open: number;
  readonly nowMs: number;
}

/** Lists open incidents, agents that are down, late ones, then runs; nothing when all is well. */
export function NeedsAttention({ attention, open, nowMs }: AttentionProps) {
  const { incidents, down, late, stuck, silent } = attention;
  const count = incidents.length + down.length + late.length + stuck.length + silent.length;
  if (count === 0) return null;
  return (
    <Section
      id="attention"
      title="Needs attention"
      aside={
        <>
          {incidents.length > 0 && <a href={ALERTS_PATH}>All incidents</a>}
          {down.length + late.length > 0 && <a href={AGENTS_PATH}>All agents</a>}
        </>
      }
    >
      <ul class="feed">
        {incidents.map((incident) => <IncidentEntry incident={incident} now={nowMs} />)}
        {[...down.slice(0, SHOWN), ...late.slice(0, SHOWN)].map((monitor) => (
          <AgentEntry monitor={monitor} now={nowMs} />
        ))}
        {stuck.slice(0, SHOWN).map((run) => <StuckEntry run={run} now={nowMs} />)}
        {silent.slice(0, SHOWN).map((run) => <SilentEntry run={run} now={nowMs} />)}
      </ul>
      <More {...attention} open={open} />
    </Section>
  );
}

/** Links to what is not shown. */
function More(
  { incidents, open, down, late, stuck, silent }: Attention & { readonly open: number },
) {
  const links: readonly (readonly [string, string] | false)[] = [
    incidents.length > 0 && open > incidents.length &&
    [`${formatCount(open - incidents.length)} more incidents`, ALERTS_PATH],
    down.length > SHOWN &&
    [`${moreText(down)} are down`, AGENTS_PATH + queryText([["state", "down"]])],
    late.length > SHOWN &&
    [`${moreText(late)} are late`, AGENTS_PATH + queryText([["state", "late"]])],
    stuck.length > SHOWN &&
    ["More runs are open", RUNS_PATH + queryText([["status", "running"]])],
    silent.length > SHOWN &&
    ["More runs fell silent", RUNS_PATH + queryText([["status", "timeout"]])],
  ];
  const shown = links.filter((link) => link !== false);
  return shown.length === 0 ? null : (
    <p class="foot">
      {shown.map(([text, to], i) => (
        <>
          {i > 0 && " · "}
          <a href={to}>{text}</a>
        </>
      ))}
    </p>
  );
}

function moreText(all: readonly Monitor[]): string {
  const more = formatCount(all.length - SHOWN);
  return all.length === READ_MAX ? `At least ${more} more` : `${more} more`;
}

function AgentEntry({ monitor, now }: { readonly monitor: Monitor; readonly now: number }) {
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

function StuckEntry({ run, now }: { readonly run: RunListRow; readonly now: number }) {
  const startedAt = run.startedAt ?? run.receivedAt;
  return (
    <FeedEntry
      to={runPath(run.id)}
      icon="late"
      name="st-late"
      title={`A run of ${run.agent ?? "an unknown agent"} does not end`}
      end={durationText(now - startedAt)}
    >
      <span class="more">
        Open since <At at={startedAt} />
      </span>
    </FeedEntry>
  );
}

/** A run that was closed because it was idle. */
function SilentEntry({ run, now }: { readonly run: RunListRow; readonly now: number }) {
  const lastAt = run.finishedAt ?? run.receivedAt;
  return (
    <FeedEntry
      to={runPath(run.id)}
      icon="timeout"
      name="st-timeout"
      title={`A run of ${run.agent ?? "an unknown agent"} fell silent`}
      end={<Ago at={lastAt} now={now} />}
    >
      <span class="more">
        No event since <At at={lastAt} />
      </span>
      , so it was closed as {run.status}.
    </FeedEntry>
  );
}
