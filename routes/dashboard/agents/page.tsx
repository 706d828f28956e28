/** `/dashboard/agents`: who runs, how well, and for how much. */
import {
  AGENT_SORTS,
  type AgentRecord,
  type AgentSort,
  type AgentsQuery,
  parseAgentsQuery,
} from "../../../domain/agents/agents.ts";
import { AGENT_DAYS, type AgentDays } from "../../../domain/spend/agent_days.ts";
import { agentCursor, parseAgentCursor } from "../../api/agents/agents.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { agentPath, AGENTS_PATH, queryText } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { originOf } from "../components/origin.ts";
import { Ago, Copyable, Empty, NextPage, Wide } from "../components/elements.tsx";
import { Choice } from "../components/form_fields.tsx";
import { formatCount, pluralOf } from "../components/format.ts";
import { Sparkline } from "../components/sparkline.tsx";
import { readDays } from "./read.ts";
import { CostOfSuccess, LastRunOf, SuccessRate } from "./metrics.tsx";

/** Agents on one page: each takes as many reads as days are shown of it. */
const AGENTS_SHOWN = 20;

/** Shows a page of the list. */
export function showAgents({ agents, spend, environment }: AppDeps): Handle {
  return async (c) => {
    const parsed = parseAgentsQuery(queryOf(c), parseAgentCursor);
    if (!parsed.ok) return fail(c, parsed.problem);
    const query = { ...parsed.value, limit: Math.min(parsed.value.limit, AGENTS_SHOWN) };
    const { team } = c.get("principal");
    const page = await agents.list(team, query);
    if (!page.ok) return fail(c, page.problem);
    const now = environment.now();
    const slugs = page.value.agents.map(({ agent }) => agent);
    const days = await readDays(spend, team, slugs, now);
    const { next } = page.value;
    const cursor = next === null ? null : agentCursor(next, query.sort);
    const isEmpty = slugs.length === 0 && query.after === null;
    return showPage(c, {
      title: "Agents",
      body: (
        <>
          <Filters query={query} />
          {isEmpty
            ? <NoAgents origin={originOf(c)} archived={query.archived} />
            : <AgentTable agents={page.value.agents} days={days} now={now} />}
          <NextPage to={cursor === null ? null : AGENTS_PATH + queryOfPage(query, cursor)} />
        </>
      ),
    });
  };
}

function queryOfPage({ sort, archived }: AgentsQuery, cursor: string): string {
  return queryText([
    ["sort", sort],
    ["archived", archived ? "true" : null],
    ["cursor", cursor],
  ]);
}

const SORT_WORDS: Readonly<Record<AgentSort, string>> = {
  last_seen: "last seen first",
  agent: "by slug",
};

function Filters({ query: { sort, archived } }: { readonly query: AgentsQuery }) {
  return (
    <form class="filters" method="get" action={AGENTS_PATH}>
      <Choice
        name="sort"
        label="Order"
        value={sort}
        words={AGENT_SORTS.map((each) => [each, SORT_WORDS[each]] as const)}
      />
      <Choice
        name="archived"
        label="Archived"
        value={String(archived)}
        words={[["false", "hidden"], ["true", "shown"]]}
      />
      <button type="submit" class="secondary">Show</button>
    </form>
  );
}

interface Listed {
  readonly agents: readonly AgentRecord[];
  readonly days: ReadonlyMap<string, AgentDays>;
  readonly now: number;
}

function AgentTable({ agents, days, now }: Listed) {
  return (
    <Wide label="Agents">
      <table class="roomy folding">
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">Last run</th>
            <th scope="col">Last seen</th>
            <th scope="col" class="number">Runs</th>
            <th scope="col" class="number">Succeeded</th>
            <th scope="col" class="number">
              Cost per success <small>{AGENT_DAYS} days</small>
            </th>
            <th scope="col">
              Runs a day{" "}
              <small>{AGENT_DAYS} days; below the line: failed, timed out, cancelled</small>
            </th>
          </tr>
        </thead>
        <tbody>
          {agents.map((each) => <AgentRow of={each} days={days.get(each.agent)} now={now} />)}
        </tbody>
      </table>
    </Wide>
  );
}

interface Row {
  readonly of: AgentRecord;
  readonly days: AgentDays | undefined;
  readonly now: number;
}

function AgentRow({ of, days, now }: Row) {
  const { agent, name, archived, activity } = of;
  const runs = activity?.runs ?? 0;
  return (
    <tr>
      <th scope="row">
        <a href={agentPath(agent)}>{name ?? agent}</a>
        {name === null ? null : <small class="under">{agent}</small>}
        {archived ? <small class="tag">archived</small> : null}
      </th>
      <td>
        <LastRunOf activity={activity} now={now} />
      </td>
      <td data-before="seen">
        {activity === null ? "–" : <Ago at={activity.lastSeen} now={now} />}
      </td>
      <td class="number" data-unit={pluralOf(runs, "run")}>{formatCount(runs)}</td>
      <td class="number" data-unit="succeeded">
        <SuccessRate activity={activity} />
      </td>
      <td class="number" data-unit="a success">
        {days === undefined ? "–" : <CostOfSuccess measures={days.total} />}
      </td>
      <td class="whole">{days === undefined ? null : <Sparkline days={days.days} />}</td>
    </tr>
  );
}

interface Hint {
  readonly origin: string;
  readonly archived: boolean;
}

function NoAgents({ origin, archived }: Hint) {
  const line = `curl -sS -u "$RUNLEDGER_KEY:" ${origin}/v1/heartbeats ` +
    `-d '{"agent":"nightly","status":"ok"}'`;
  return (
    <Empty title="No agent yet">
      <p>
        The first run that names an agent makes it{archived ? "" : "; archived ones are not shown"}.
        A whole run in one line:
      </p>
      <Copyable id="first" text={line} />
    </Empty>
  );
}
