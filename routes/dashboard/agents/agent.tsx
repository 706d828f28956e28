/** `/dashboard/agents/{slug}`: one agent, in tabs: overview, latest runs, settings. */
import type { Handler } from "../../http/admission.ts";
import type { AgentRecord } from "../../../domain/agents/agents.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { AGENT_DAYS } from "../../../domain/spend/agent_days.ts";
import { NO_SUCH_AGENT } from "../../api/agents/agents.ts";
import { mayAdmin } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { agentPath, AGENTS_PATH, KEYS_PATH, queryText, RUNS_PATH } from "../layout/paths.ts";
import { readPreferences, shownZone } from "../layout/preferences.ts";
import { showPage } from "../layout/reply.tsx";
import { Crumbs, Done, InlineNotice, Money, Section, Tabs, Tile } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import { FAILURES } from "../components/run_columns.tsx";
import { countedText, durationText, formatCount } from "../components/format.ts";
import { Table } from "../components/table.tsx";
import { agentHistoryPath, AgentIncidents, readIncidentsOfAgent } from "../alerts/entries.tsx";
import { KeyTable } from "../keys/labels.tsx";
import { newKeyPath } from "../keys/paths.ts";
import { AgentForm, readAgent } from "./form.tsx";
import {
  CostOfSuccess,
  DaysChart,
  LastRunOf,
  readDays,
  STATUS_LABELS,
  SuccessRate,
} from "./metrics.tsx";
import { NAMED_RUN_COLUMNS, readRecords } from "./named_runs.tsx";
import { MonitorPanel, readMonitor } from "./monitor_panel.tsx";

/** Maximum numbers of runs, failures and ping tokens listed. */
const RUNS_SHOWN = 20, FAILURES_SHOWN = 5, TOKENS_SHOWN = 20;

/** Latest runs whose durations are compared. */
const RUNS_READ = 100;

export const showAgent: Handler = async (c, deps) => {
  const record = await readAgent(deps, c);
  if (record === null) return fail(c, NO_SUCH_AGENT);
  const part = PARTS.find(([name]) => name === c.req.query("tab"))?.[0] ?? "overview";
  const content = await readContent(c, deps, record, part);
  return showPage(c, {
    title: record.name ?? record.agent,
    crumbs: <Crumbs links={[["Agents", AGENTS_PATH]]} />,
    body: (
      <>
        <Done c={c} />
        <AgentTabs agent={record.agent} part={part} />
        <AgentBody {...content} />
      </>
    ),
  });
};

/** Parts of the page. */
const PARTS = [["overview", "Overview"], ["runs", "Runs"], ["settings", "Settings"]] as const;

type Part = typeof PARTS[number][0];

function AgentTabs({ agent, part }: { readonly agent: string; readonly part: Part }) {
  return (
    <Tabs
      label="Agent"
      tabs={PARTS.map(([name, text]) => ({
        name: text,
        to: agentPath(agent) + queryText([["tab", name === "overview" ? null : name]]),
        isCurrent: name === part,
      }))}
    />
  );
}

type AgentContent = Awaited<ReturnType<typeof readContent>>;

async function readContent(c: RequestContext, deps: AppDeps, record: AgentRecord, part: Part) {
  const { spend, runList, credentials, environment } = deps;
  const principal = c.get("principal");
  const { team } = principal;
  const isAdmin = mayAdmin(principal);
  const { agent } = record;
  const now = environment.now();
  const zone = shownZone(readPreferences(c));
  const all = { agent, from: null, to: null };
  const [days, latest, failures, tokens, monitor, incidents] = await Promise.all([
    readDays(spend, team, [agent], now),
    runList.page(team, all, null, RUNS_READ),
    runList.page(team, { ...all, status: FAILURES }, null, FAILURES_SHOWN),
    isAdmin ? credentials.list(team, { agent, limit: TOKENS_SHOWN, after: null }) : null,
    readMonitor(deps, team, agent, zone, now),
    readIncidentsOfAgent(deps, team, agent),
  ]);
  const shown = part === "runs" ? latest.rows.slice(0, RUNS_SHOWN) : failures.rows;
  const runs = await readRecords(deps, team, shown.map(({ id }) => id));
  return {
    part,
    record,
    days: days.get(agent),
    durations: latest.rows.flatMap(({ durationMs }) => durationMs ?? []).sort((a, b) => a - b),
    runs,
    tokens,
    incidents,
    monitor: {
      ...monitor,
      agent: record,
      now,
      isAdmin,
      incidents: incidents.length,
      confirms: c.req.query("confirm") === "delete-monitor",
    },
    now,
  };
}

function AgentBody(content: AgentContent) {
  const { record, part } = content;
  const { agent, name, notes, archived } = record;
  return (
    <>
      {archived && (
        <InlineNotice kind="warn">
          <p>Archived: the board does not show it. Its next run restores it.</p>
        </InlineNotice>
      )}
      {name !== null && (
        <p class="soft">
          Slug: <code>{agent}</code>
        </p>
      )}
      {notes !== null && <p class="notes">{notes}</p>}
      {part === "overview"
        ? <Overview {...content} />
        : part === "runs"
        ? <AgentRuns title="Latest runs" agent={agent} statuses={[]} runs={content.runs} />
        : <Settings {...content} />}
    </>
  );
}

function Overview(content: AgentContent) {
  const { record: { agent }, days, incidents, now } = content;
  return (
    <>
      <AgentIncidents agent={agent} incidents={incidents} now={now} />
      <AgentTiles {...content} />
      <MonitorPanel {...content.monitor} />
      <Section title={`Runs a day, last ${AGENT_DAYS} days`}>
        {days !== undefined && <DaysChart {...days} />}
      </Section>
      <AgentRuns title="Latest failures" agent={agent} statuses={FAILURES} runs={content.runs} />
    </>
  );
}

function Settings(content: AgentContent) {
  const { record, tokens } = content;
  return (
    <>
      <Section id="words" title="Name and notes">
        {tokens !== null
          ? <AgentForm agent={record.agent} typed={record} problem={null} />
          : (
            <p class="soft">
              Changing these takes a key with the scope <code>admin</code>.
            </p>
          )}
      </Section>
      <PingTokens {...content} />
    </>
  );
}

/** Shows the last run, the success rate, the cost and the last call. */
function AgentTiles({ record: { activity, firstSeen }, days, durations, now }: AgentContent) {
  const { runs = 0, succeeded = 0, running = 0, lastSeen = null } = activity ?? {};
  return (
    <div class="tiles">
      <Tile name="Last run" value={<LastRunOf activity={activity} now={now} />} />
      <Tile name="Succeeded" value={<SuccessRate activity={activity} />}>
        <small class="soft">
          {formatCount(runs - succeeded - running)} without success, {formatCount(running)}{" "}
          running of {countedText(runs, "run")}
        </small>
      </Tile>
      {durations.length > 0 && (
        <Tile name="Typical duration" value={durationText(quantileOf(durations, 0.5))}>
          <small class="soft">
            95% within {durationText(quantileOf(durations, 0.95))}, of the latest{" "}
            {countedText(durations.length, "run")}
          </small>
        </Tile>
      )}
      {days !== undefined && (
        <>
          <Tile name={`Cost, ${AGENT_DAYS} days`} value={<Money of={days.total.cost} />}>
            <small class="soft">{countedText(days.total.runs, "run")}</small>
          </Tile>
          <Tile
            name={`Cost per success, ${AGENT_DAYS} days`}
            value={<CostOfSuccess measures={days.total} />}
          />
        </>
      )}
      <Tile name="Last arrival" value={lastSeen === null ? "–" : <Ago at={lastSeen} now={now} />}>
        <small class="soft">
          first arrival <Ago at={firstSeen} now={now} />
        </small>
      </Tile>
    </div>
  );
}

/** Returns a quantile of sorted values, by the nearest rank. */
function quantileOf(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

interface AgentRunsProps {
  readonly title: string;
  readonly agent: string;
  /** The statuses that are shown; empty for all. */
  readonly statuses: readonly RunStatus[];
  readonly runs: readonly RunRecord[];
}

/** Shows a short table of runs, with links to all of them. */
function AgentRuns({ title, agent, statuses, runs }: AgentRunsProps) {
  const links = statuses.length === 0 ? [null] : statuses;
  return (
    <Section title={title}>
      {runs.length === 0
        ? <p class="soft">None.</p>
        : <Table label={title} class="fold failed-runs" columns={NAMED_RUN_COLUMNS} rows={runs} />}
      <p>
        {links.map((status, at) => (
          <>
            {at > 0 && " · "}
            <a href={`${RUNS_PATH}${queryText([["agent", agent], ["status", status]])}`}>
              {status === null ? "All its runs" : `All that ${STATUS_LABELS[status]}`}
            </a>
          </>
        ))}
        {statuses.length > 0 && (
          <>
            {" "}· <a href={agentHistoryPath(agent)}>its incidents</a>
          </>
        )}
      </p>
    </Section>
  );
}

/** Lists the ping tokens, with a link that creates another; null without the scope `admin`. */
function PingTokens({ record: { agent }, tokens, now }: AgentContent) {
  return (
    <Section title="Ping tokens">
      <p class="soft">
        A ping token lets a cron job report its result with one line of curl, and nothing else.
        {tokens === null && (
          <>
            {" "}Seeing them takes a key with the scope <code>admin</code>.
          </>
        )}
      </p>
      {tokens !== null && tokens.records.length > 0 && (
        <KeyTable label="Ping tokens" records={tokens.records} now={now} />
      )}
      {tokens !== null && (
        <p class="actions">
          <a class="btn" href={newKeyPath("ping_token", agent)}>New ping token</a>
          {tokens.next !== null && (
            <a href={KEYS_PATH + queryText([["agent", agent]])}>All its ping tokens</a>
          )}
        </p>
      )}
    </Section>
  );
}
