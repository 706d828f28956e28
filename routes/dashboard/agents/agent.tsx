/** `/dashboard/agents/{slug}`: one agent, in tabs: overview, latest runs, monitor, settings. */
import type { Child } from "hono/jsx";
import { existing, type Problem } from "../../../domain/core/errors.ts";
import { AGENT_CHARS_MAX, AGENT_NOTES_CHARS_MAX } from "../../../domain/core/limits.ts";
import { type AgentRecord, parseAgentPatch } from "../../../domain/agents/agents.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { scheduleWords } from "../../../domain/monitors/schedule.ts";
import { AGENT_DAYS } from "../../../domain/spend/agent_days.ts";
import { NO_SUCH_AGENT } from "../../api/agents/agents.ts";
import * as paths from "../layout/paths.ts";
import { seeOther } from "../layout/page.tsx";
import { Ago, Crumbs, Done, Money, Section, Status, Tabs, Tiles } from "../components/elements.tsx";
import { bodyOf, formOf, FormProblem } from "../components/form_fields.tsx";
import { FAILURES } from "../components/run_state.tsx";
import { countedText, formatCount, percentText } from "../components/format.ts";
import { MonitorStatus } from "../components/monitor.tsx";
import { Table } from "../components/table.tsx";
import { agentHistoryPath, AgentIncidents } from "../alerts/entries.tsx";
import { keyColumns } from "../keys/labels.tsx";
import type { AgentOverview, AgentScope } from "./agent_load.ts";
import { loadOverview, loadRuns, loadTokens, ofAgent } from "./agent_load.ts";
import { CostOfSuccess, DaysChart, durationTexts } from "./metrics.tsx";
import { ADMIN_ONLY, monitorTab, monitorTabPath } from "./monitor.tsx";
import { agentPauses, pauseButton } from "./pause.tsx";
import { NamedRuns } from "./named_runs.tsx";

export const showAgent = ofAgent(async (scope) => {
  const { c, agent, record: { name, notes, archived } } = scope;
  const asked = scope.confirms ? "monitor" : c.req.query("tab");
  const [current, , show] = TABS.find(([part]) => part === asked) ?? TABS[0];
  return {
    title: name ?? agent,
    subtitle: name !== null && ["Slug: ", <code>{agent}</code>],
    crumbs: <Crumbs links={[["Agents", paths.AGENTS_PATH]]} />,
    aside: pauseButton(scope),
    body: [
      <Done c={c} />,
      await agentPauses(scope),
      <Tabs
        label="Agent"
        tabs={TABS.map(([part, label]) => ({
          name: label,
          to: paths.agentPath(agent) + paths.queryText([["tab", part]]),
          isCurrent: part === current,
        }))}
      />,
      archived && (
        <p class="notice warn">
          Archived: the board does not show it. Its next run restores it.
        </p>
      ),
      notes !== null && <p class="notes">{notes}</p>,
      await show(scope),
    ],
  };
});

/** Tabs: the name in the query, the label and the content; the first one is the default. */
const TABS = [
  ["", "Overview", overviewTab],
  ["runs", "Runs", runsTab],
  ["monitor", "Monitor", monitorTab],
  ["settings", "Settings", settingsTab],
] as const;

async function overviewTab(scope: AgentScope): Promise<Child> {
  const data = await loadOverview(scope);
  const { agent, now } = scope;
  const failed = FAILURES.map((status) => ["status", status] as const);
  const links = [
    <a href={paths.RUNS_PATH + paths.queryText([["agent", agent], ...failed])}>All its failures</a>,
    " · ",
    <a href={agentHistoryPath(agent)}>its incidents</a>,
  ];
  return [
    <AgentIncidents agent={agent} incidents={data.open} now={now} />,
    <Tiles tiles={tilesOf(scope, data)} />,
    <Section title={`Runs a day, last ${AGENT_DAYS} days`}>
      <DaysChart {...data.days} />
    </Section>,
    runsSection("Latest failures", data.failures, links),
  ];
}

type TileTexts = readonly [name: string, value: Child, note?: Child];

/** Returns the metrics of an agent: its state, its last run, success, durations and costs. */
function tilesOf({ record, now }: AgentScope, data: AgentOverview): readonly TileTexts[] {
  const { agent, activity, firstSeen } = record;
  const { proposal, durations, days: { total } } = data;
  const { runs = 0, succeeded = 0, running = 0, lastSeen = null, lastRun = null } = activity ?? {};
  const ended = runs - running;
  const [p50, p95] = durationTexts(durations);
  const state = <MonitorStatus of={data} now={now} />;
  const status = lastRun && <Status of={lastRun.status} />;
  const exact = `${formatCount(succeeded)} of ${countedText(ended, "run")} that ended`;
  return [
    [
      "State",
      <a href={monitorTabPath(agent)}>{state}</a>,
      proposal && `${scheduleWords(proposal.schedule)} proposed`,
    ],
    [
      "Last run",
      lastRun ? <a href={paths.runPath(lastRun.id)}>{status}</a> : "–",
      lastRun && <Ago at={lastRun.startedAt} />,
    ],
    [
      "Succeeded",
      <span title={exact}>{percentText(succeeded, ended)}</span>,
      `${formatCount(ended - succeeded)} without success, ` +
      `${formatCount(running)} running of ${countedText(runs, "run")}`,
    ],
    [
      "Typical duration",
      durations.length === 0 ? "–" : p50,
      durations.length > 0 &&
      `95% within ${p95}, of the latest ${countedText(durations.length, "run")}`,
    ],
    [`Cost, ${AGENT_DAYS} days`, <Money of={total.cost} />, countedText(total.runs, "run")],
    [`Cost per success, ${AGENT_DAYS} days`, <CostOfSuccess measures={total} />],
    [
      "Last arrival",
      lastSeen === null ? "–" : <Ago at={lastSeen} />,
      ["first arrival ", <Ago at={firstSeen} />],
    ],
  ];
}

async function runsTab(scope: AgentScope): Promise<Child> {
  const path = paths.RUNS_PATH + paths.queryText([["agent", scope.agent]]);
  return runsSection("Latest runs", await loadRuns(scope), <a href={path}>All its runs</a>);
}

function runsSection(title: string, runs: readonly RunRecord[], links: Child): Child {
  return (
    <Section title={title}>
      <NamedRuns label={title} runs={runs} none="None." />
      <p>{links}</p>
    </Section>
  );
}

/** The forms of an agent; explains them to a reader without the scope `admin`. */
async function settingsTab(scope: AgentScope): Promise<Child> {
  const { agent, record, now } = scope;
  const tokens = await loadTokens(scope);
  return [
    <Section id="words" title="Name, notes and archive">
      {tokens === null ? ADMIN_ONLY : agentForm(agent, record, null)}
    </Section>,
    <Section title="Ping tokens">
      <p class="soft">
        A ping token lets a cron job report its result with one line of curl, and nothing else.
      </p>
      {tokens === null ? ADMIN_ONLY : (
        <>
          {tokens.records.length > 0 && (
            <Table
              class="fold"
              label="Ping tokens"
              columns={keyColumns(now)}
              rows={tokens.records}
            />
          )}
          <p class="actions">
            <a class="btn" href={paths.newKeyPath("ping_token", agent)}>New ping token</a>
            {tokens.next !== null && (
              <a href={paths.KEYS_PATH + paths.queryText([["agent", agent]])}>
                All its ping tokens
              </a>
            )}
          </p>
        </>
      )}
    </Section>,
  ];
}

type AgentFields = Pick<AgentRecord, "name" | "notes" | "archived">;

function agentForm(agent: string, fields: AgentFields, problem: Problem | null): Child {
  const { name, notes, archived } = fields;
  const { text } = formOf({ name: name ?? "", notes: notes ?? "" }, problem);
  return (
    <form class="narrow" method="post" action={paths.agentPath(agent)}>
      <FormProblem problem={problem} fields={["name", "notes"]} />
      {text("name", "Name", {
        maxlength: AGENT_CHARS_MAX,
        placeholder: agent,
        hint: "Shown instead of the slug; clients still send the slug.",
      })}
      {text("notes", "Notes", {
        rows: 4,
        hint: `Its purpose and its owner. At most ${AGENT_NOTES_CHARS_MAX} characters.`,
      })}
      <label>
        <input type="checkbox" name="archived" value="true" checked={archived} />
        Archived: the board hides it. Its history stays, and its next run restores it.
      </label>
      <button type="submit" class="btn main">Save</button>
    </form>
  );
}

/** Changes an agent and redirects to its page, or shows the form again. */
export const submitAgentChange = ofAgent(async (scope) => {
  const { c, deps, team, agent, record, made, onProblem } = scope;
  const form = c.get("form");
  const typed = {
    name: form.get("name") ?? "",
    // Forms send CRLF.
    notes: (form.get("notes") ?? "").replaceAll("\r\n", "\n"),
    archived: form.get("archived") === "true",
  };
  onProblem((problem) => ({
    title: record.name ?? agent,
    crumbs: <Crumbs links={[["Agents", paths.AGENTS_PATH], [agent, paths.agentPath(agent)]]} />,
    body: agentForm(agent, typed, problem),
  }));
  const patch = parseAgentPatch(bodyOf(typed));
  existing(await deps.agents.change(team, agent, patch, made), NO_SUCH_AGENT);
  return seeOther(`${paths.agentPath(agent)}?tab=settings&done=saved`);
});
