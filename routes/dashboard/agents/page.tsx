/** `/dashboard/agents`: the agents of a team with their success and their cost. */
import type { Handler } from "../../http/admission.ts";
import {
  AGENT_SORTS,
  type AgentRecord,
  type AgentSort,
  type AgentsQuery,
  parseAgentsQuery,
} from "../../../domain/agents/agents.ts";
import { AGENT_DAYS } from "../../../domain/spend/agent_days.ts";
import { agentCursor, parseAgentCursor } from "../../api/agents/agents.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { agentPath, AGENTS_PATH, queryText } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Empty, NextPage } from "../components/elements.tsx";
import {
  type CommandTarget,
  commandTarget,
  FirstCommand,
  pingCommand,
} from "../components/first_command.tsx";
import { Ago } from "../components/time.tsx";
import { Select } from "../components/form_fields.tsx";
import { type Column, countColumn, numberColumn, Table } from "../components/table.tsx";
import { showAgent } from "./agent.tsx";
import { submitAgentChange } from "./form.tsx";
import { CostOfSuccess, LastRunOf, readDays, Sparkline, SuccessRate } from "./metrics.tsx";

/** Maximum agents per page: each costs one read per day shown. */
const AGENTS_SHOWN = 20;

const showAgents: Handler = async (c, deps) => {
  const { agents, spend, environment } = deps;
  const parsed = parseAgentsQuery(queryOf(c), parseAgentCursor);
  if (!parsed.ok) return fail(c, parsed.problem);
  const query = { ...parsed.value, limit: Math.min(parsed.value.limit, AGENTS_SHOWN) };
  const { team } = c.get("principal");
  const page = await agents.list(team, query);
  if (!page.ok) return fail(c, page.problem);
  const now = environment.now();
  const { agents: records, next } = page.value;
  const days = await readDays(spend, team, records.map(({ agent }) => agent), now);
  const { sort, archived } = query;
  const nextPath = next === null ? null : AGENTS_PATH + queryText([
    ["sort", sort],
    ["archived", archived ? "true" : null],
    ["cursor", agentCursor(next, sort)],
  ]);
  const isEmpty = records.length === 0 && query.after === null;
  const target = await commandTarget(deps, c);
  return showPage(c, {
    title: "Agents",
    body: (
      <>
        <Filters query={query} />
        {isEmpty ? <NoAgents target={target} archived={archived} /> : (
          <Table
            label="Agents"
            class="fold"
            columns={columnsFor(days, now)}
            rows={records}
          />
        )}
        <NextPage to={nextPath} />
      </>
    ),
  });
};

const SORT_LABELS: Readonly<Record<AgentSort, string>> = {
  last_seen: "last seen first",
  agent: "by slug",
};

function Filters({ query: { sort, archived } }: { readonly query: AgentsQuery }) {
  return (
    <form class="filters" method="get" action={AGENTS_PATH}>
      <Select
        name="sort"
        label="Order"
        value={sort}
        options={AGENT_SORTS.map((order) => [order, SORT_LABELS[order]] as const)}
      />
      <Select
        name="archived"
        label="Archived"
        value={String(archived)}
        options={[["false", "hidden"], ["true", "shown"]]}
      />
      <button type="submit" class="btn">Show</button>
    </form>
  );
}

type DaysByAgent = Awaited<ReturnType<typeof readDays>>;

function columnsFor(days: DaysByAgent, now: number): readonly Column<AgentRecord>[] {
  return [
    {
      head: "Agent",
      isName: true,
      cell: ({ agent, name, archived }) => (
        <>
          <a class="row" href={agentPath(agent)}>{name ?? agent}</a>
          {name !== null && <small class="under">{agent}</small>}
          {archived && <small class="tag">archived</small>}
        </>
      ),
    },
    { head: "Last run", cell: ({ activity }) => <LastRunOf activity={activity} now={now} /> },
    {
      head: "Last seen",
      before: "seen",
      cell: ({ activity }) => activity === null ? "–" : <Ago at={activity.lastSeen} now={now} />,
    },
    countColumn("Runs", ({ activity }) => activity?.runs ?? 0, "run"),
    numberColumn("Succeeded", ({ activity }) => <SuccessRate activity={activity} />, "succeeded"),
    {
      head: (
        <>
          Cost per success <small>{AGENT_DAYS} days</small>
        </>
      ),
      class: "num",
      unit: "a success",
      cell: ({ agent }) => {
        const total = days.get(agent)?.total;
        return total === undefined ? "–" : <CostOfSuccess measures={total} />;
      },
    },
    {
      head: (
        <>
          Runs a day <small>{AGENT_DAYS} days; below the line: failed, timed out, cancelled</small>
        </>
      ),
      class: "whole",
      cell: ({ agent }) => {
        const ofAgent = days.get(agent);
        return ofAgent === undefined ? null : <Sparkline {...ofAgent} />;
      },
    },
  ];
}

interface NoAgentsProps {
  readonly target: CommandTarget;
  readonly archived: boolean;
}

function NoAgents({ target, archived }: NoAgentsProps) {
  return (
    <Empty title="No agent yet">
      <p>
        The first run that names an agent creates it{!archived && "; archived ones are not shown"}.
      </p>
      <FirstCommand id="first" text={pingCommand(target)} target={target} />
    </Empty>
  );
}

/** The list of agents, and the page of each. */
export const agentsPage: DashboardPage = {
  path: AGENTS_PATH,
  menu: { name: "Agents", area: "main" },
  access: teamKey("read"),
  handler: showAgents,
  routes: [
    get(`${AGENTS_PATH}/:slug`, showAgent),
    post(`${AGENTS_PATH}/:slug`, submitAgentChange, teamKey("admin")),
  ],
};
