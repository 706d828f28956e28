/** `/dashboard/agents`: the board of a team's agents, those in trouble first. */
import { teamKey } from "../../http/access.ts";
import { queryOf } from "../../http/query.ts";
import { type DashboardPage, get, type PageHandler, post, type Visit } from "../layout/page.tsx";
import { agentPath, AGENTS_PATH } from "../layout/paths.ts";
import { readPreferences, shownZone } from "../layout/preferences.ts";
import { Empty, reloading, Section, Tabs } from "../components/elements.tsx";
import { FilterForm, NextPage, Table } from "../components/table.tsx";
import { commandTarget, FirstCommand } from "../components/first_command.tsx";
import { formOf } from "../components/form_fields.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { AGENT_STATES, type AgentState, MONITOR_LABELS } from "../components/monitor.tsx";
import { showAgent, submitAgentChange } from "./agent.tsx";
import type { BoardData, BoardQuery } from "./board_load.ts";
import { boardPath, loadBoard, parseBoardQuery } from "./board_load.ts";
import { boardColumns } from "./columns.tsx";
import { submitAgentPause, submitAgentResume } from "./pause.tsx";
import { MONITOR_ACTIONS, proposalOf, submitMonitor, submitMonitorAction } from "./monitor.tsx";

const showAgents: PageHandler = async (visit) => {
  const { c, deps, isAdmin } = visit;
  const query = parseBoardQuery(queryOf(c));
  const time = { nowMs: deps.environment.now(), zone: shownZone(readPreferences(c)) };
  const board = await loadBoard(visit, query, time);
  const { rows, next, hasStates, hasMonitors, isCut, proposals } = board;
  const columns = boardColumns(board, time);
  const name = hasStates ? "fold agents monitored" : "fold agents";
  const sort = query.isBySlug ? "agent" : "state";
  const texts = { q: query.q ?? "", sort, archived: String(query.archived) };
  const { text, choice } = formOf(texts, null);
  return {
    title: "Agents",
    subtitle: <span id="board-sums">{sumsText(board)}</span>,
    body: [
      <FilterForm action={AGENTS_PATH}>
        {query.state !== null && <input type="hidden" name="state" value={query.state} />}
        {text("q", "Name contains")}
        {choice("sort", "Order", [["state", "Trouble first"], ["agent", "By slug"]])}
        {choice("archived", "Archived agents", [["false", "Hidden"], ["true", "Shown"]])}
      </FilterForm>,
      <div id="board-filters">
        {hasStates && !query.isBySlug && (
          <Tabs class="seg" label="State" tabs={statesOf(board, query)} />
        )}
      </div>,
      <div {...reloading("board", boardPath(query, query.after), UPDATE_SECONDS, BESIDE)}>
        {rows.length > 0
          ? <div class="panel">{Table({ label: "Agents", class: name, columns, rows })}</div>
          : await emptyBoard(visit, query)}
        {rows.length > 0 && hasMonitors && (
          <p class="soft">
            A low bar is a day without trouble, a middle bar a day on which it was late, a tall bar
            a day on which it was down.
          </p>
        )}
        {isCut && (
          <p class="soft">
            Only agents in trouble and those seen last are sorted by state.{" "}
            <a href={boardPath({ ...query, isBySlug: true, state: null })}>All agents by slug</a>
          </p>
        )}
      </div>,
      <NextPage to={next && boardPath(query, next)} />,
      proposals.length > 0 && (
        <Section id="offers" title="No agent has a monitor">
          {proposals.map(({ agent, proposal }) =>
            proposalOf(agent, proposal, isAdmin, <a href={agentPath(agent)}>{agent}</a>)
          )}
        </Section>
      ),
    ],
  };
};

/** Seconds between updates of the board. */
const UPDATE_SECONDS = 15, BESIDE = "#board-sums,#board-filters";

/** Counts the agents in a state; null for all. */
function countIn({ all }: BoardData, state: AgentState | null): number {
  return state === null ? all.length : all.filter((row) => row.state === state).length;
}

/** Counts agents, those in trouble, and their runs. */
function sumsText(board: BoardData): string {
  const { all, isCut, hasMonitors } = board;
  if (all.length === 0) return "";
  const texts = { down: "down", late: "late", incident: "with an open incident" };
  const problems = (["down", "late", "incident"] as const)
    .map((state) => [countIn(board, state), texts[state]] as const)
    .filter(([count]) => count > 0).map(([count, text]) => `${formatCount(count)} ${text}`);
  const running = all.reduce((sum, { activity }) => sum + (activity?.running ?? 0), 0);
  return [
    (isCut ? "more than " : "") + countedText(all.length, "agent"),
    ...hasMonitors && problems.length === 0 ? ["none late"] : problems,
    `${formatCount(running)} running`,
  ].join(", ");
}

/** Classes of counts that need attention, by the icon of their state. */
const TAGS: Readonly<Record<string, string>> = { bad: "tag bad", late: "tag warn" };

/** Returns links to the states that occur. */
function statesOf(board: BoardData, query: BoardQuery) {
  const counts = [null, ...AGENT_STATES].map((state) => [state, countIn(board, state)] as const);
  const shown = counts.filter(([state, count]) => count > 0 || state === query.state);
  return shown.map(([state, count]) => {
    const [name, icon] = state === null ? ["All", ""] : MONITOR_LABELS[state];
    const note = <span class={TAGS[icon] ?? "tag"}>{formatCount(count)}</span>;
    return { name, to: boardPath({ ...query, state }), isCurrent: state === query.state, note };
  });
}

/** Explains an empty board: how to fill it, or how to see all agents again. */
async function emptyBoard(visit: Visit, query: BoardQuery) {
  const { state, q, archived } = query;
  if (state === null && q === null) {
    const target = await commandTarget(visit);
    return (
      <Empty title="No agent yet">
        <p>
          The first run that names an agent creates it{!archived && "; archived ones are hidden"}.
        </p>
        <FirstCommand id="first" call="ping" target={target} />
      </Empty>
    );
  }
  const reason = q === null
    ? `No agent is in the state “${MONITOR_LABELS[state ?? "none"][0]}”`
    : `No agent’s name contains “${q}”`;
  return (
    <Empty title={reason}>
      <p>
        <a href={boardPath({ ...query, state: null, q: null })}>Show all agents</a>
      </p>
    </Empty>
  );
}

/** Path of an agent's page, and of the forms of its monitor. */
const AGENT = `${AGENTS_PATH}/:slug`, MONITOR = `${AGENT}/monitor`;

/** The board of agents, and the page of each. */
export const agentsPage: DashboardPage = {
  path: AGENTS_PATH,
  menu: { name: "Agents", area: "main" },
  access: teamKey("read"),
  handler: showAgents,
  routes: [
    get(AGENT, showAgent),
    post(AGENT, submitAgentChange, teamKey("admin")),
    post(`${AGENT}/pause`, submitAgentPause, teamKey("admin")),
    post(`${AGENT}/resume`, submitAgentResume, teamKey("admin")),
    post(MONITOR, submitMonitor, teamKey("admin")),
    ...MONITOR_ACTIONS.map((action) =>
      post(`${MONITOR}/${action}`, submitMonitorAction(action), teamKey("admin"))
    ),
  ],
};
