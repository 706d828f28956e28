/** `/dashboard/agents`: the board of a team's agents, those in trouble first. */
import type { Handler } from "../../http/admission.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import { queryOf } from "../../http/query.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { AGENTS_PATH } from "../layout/paths.ts";
import { readPreferences, shownZone } from "../layout/preferences.ts";
import { showPage } from "../layout/reply.tsx";
import { Empty } from "../components/elements.tsx";
import { FilterForm, NextPage } from "../components/list_page.tsx";
import {
  type CommandTarget,
  commandTarget,
  FirstCommand,
  pingCommand,
} from "../components/first_command.tsx";
import { Field } from "../components/form_fields.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { MONITOR_LABELS } from "../components/monitor.tsx";
import { Table } from "../components/table.tsx";
import { showAgent } from "./agent.tsx";
import {
  type Board,
  BOARD_STATES,
  boardPath,
  type BoardQuery,
  type BoardState,
  parseBoardQuery,
  readBoard,
} from "./board.ts";
import { boardColumns } from "./columns.tsx";
import { submitAgentChange } from "./form.tsx";
import {
  submitMonitor,
  submitMonitorDeletion,
  submitPause,
  submitResume,
} from "./monitor_changes.tsx";
import { Offers, readOffers } from "./offer.tsx";

const showAgents: Handler = async (c, deps) => {
  const query = parseBoardQuery(queryOf(c));
  if (!query.ok) return fail(c, query.problem);
  const now = deps.environment.now();
  const principal = c.get("principal");
  const { team } = principal;
  const board = await readBoard(deps, team, query.value, now);
  const zone = shownZone(readPreferences(c));
  const [target, offers] = await Promise.all([
    commandTarget(deps, c),
    readOffers(deps, team, board, zone),
  ]);
  const props = { board, query: query.value, now };
  return showPage(c, {
    title: "Agents",
    lead: <Sums {...board} />,
    body: (
      <>
        {query.value.sort === "state" && <Search {...query.value} />}
        <Filters {...props} />
        <div id="board" {...following(query.value)}>
          {board.rows.length > 0
            ? <BoardTable {...props} />
            : <NoAgents {...props} target={target} />}
        </div>
        <NextPage to={board.next} />
        <Offers offers={offers} isAdmin={mayAdmin(principal)} />
      </>
    ),
  });
};

/** Seconds between updates of the board. */
const UPDATE_SECONDS = 15;

/** Returns the htmx attributes that update the board, its filters and its sums. */
function following(query: BoardQuery): Record<string, string> {
  return {
    "hx-get": boardPath(query, query),
    "hx-trigger": `every ${UPDATE_SECONDS}s`,
    "hx-sync": "this:drop",
    "hx-select": "#board",
    "hx-select-oob": "#board-sums,#board-filters",
    "hx-swap": "outerHTML",
  };
}

interface BoardProps {
  readonly board: Board;
  readonly query: BoardQuery;
  readonly now: number;
}

/** Counts agents, those in trouble, and their runs. */
function Sums({ counts, isCut, hasMonitors }: Board) {
  if (counts === null || counts.agents === 0) return <span id="board-sums" />;
  const { agents, running, byState } = counts;
  const parts = [
    isCut ? `more than ${countedText(agents, "agent")}` : countedText(agents, "agent"),
    ...(["down", "late"] as const).flatMap((state) => {
      const count = byState.get(state) ?? 0;
      return count === 0 ? [] : [`${formatCount(count)} ${state}`];
    }),
    ...byState.has("incident")
      ? [`${formatCount(byState.get("incident") ?? 0)} with an open incident`]
      : [],
    ...hasMonitors && !byState.has("down") && !byState.has("late") ? ["none late"] : [],
    `${formatCount(running)} running`,
  ];
  return <span id="board-sums">{parts.join(", ")}</span>;
}

/** Labels of the filters. */
const LABELS: Readonly<Record<BoardState, string>> = {
  ...Object.fromEntries(
    Object.entries(MONITOR_LABELS).map(([state, [word]]) => [state, word]),
  ) as Record<keyof typeof MONITOR_LABELS, string>,
  incident: "Incident",
  none: "No monitor",
};

/** Classes of counts that need attention. */
const TAGS: Readonly<Partial<Record<BoardState, string>>> = {
  down: "tag bad",
  incident: "tag bad",
  late: "tag warn",
};

/** Searches agents by a part of their names. Updates of the board leave it alone. */
function Search({ q, state, archived }: BoardQuery) {
  return (
    <FilterForm action={AGENTS_PATH}>
      {state !== null && <input type="hidden" name="state" value={state} />}
      {archived && <input type="hidden" name="archived" value="true" />}
      <Field name="q" label="Name contains" value={q ?? ""} />
    </FilterForm>
  );
}

/** Links to the states that occur, to the other order, and to archived agents. */
function Filters({ board: { counts, hasStates }, query }: BoardProps) {
  const { state, sort, archived } = query;
  const states = BOARD_STATES.filter((of) => counts?.byState.has(of) || of === state);
  return (
    <div id="board-filters" class="bar">
      {hasStates && counts !== null && (
        <nav class="seg" aria-label="State">
          <a
            href={boardPath(query, { state: null })}
            aria-current={state === null ? "true" : undefined}
          >
            All <span class="tag">{formatCount(counts.agents)}</span>
          </a>
          {states.map((of) => (
            <a
              href={boardPath(query, { state: of })}
              aria-current={state === of ? "true" : undefined}
            >
              {LABELS[of]}{" "}
              <span class={TAGS[of] ?? "tag"}>{formatCount(counts.byState.get(of) ?? 0)}</span>
            </a>
          ))}
        </nav>
      )}
      <span class="end">
        {sort === "state"
          ? <a href={boardPath(query, { sort: "agent", state: null, q: null })}>Sort by slug</a>
          : <a href={boardPath(query, { sort: "state" })}>Sort by state</a>}
        <a href={boardPath(query, { archived: !archived })}>
          {archived ? "Hide archived" : "Show archived"}
        </a>
      </span>
    </div>
  );
}

function BoardTable({ board, query, now }: BoardProps) {
  const { rows, isCut, hasMonitors, hasStates } = board;
  return (
    <>
      <div class="panel">
        <Table
          label="Agents"
          class={hasStates ? "fold agents monitored" : "fold agents"}
          columns={boardColumns(board, now)}
          rows={rows}
        />
      </div>
      {hasMonitors && (
        <p class="soft">
          A low bar is a day without trouble, a middle bar a day on which it was late, a tall bar a
          day on which it was down.
        </p>
      )}
      {isCut && (
        <p class="soft">
          Only the agents seen last are sorted by state.{" "}
          <a href={boardPath(query, { sort: "agent", state: null })}>All agents by slug</a>
        </p>
      )}
    </>
  );
}

function NoAgents(
  { query, target }: Pick<BoardProps, "query"> & { readonly target: CommandTarget },
) {
  const { state, q, archived } = query;
  if (q !== null) {
    return (
      <Empty title={`No agent’s name contains “${q}”`}>
        <p>
          <a href={boardPath(query, { state: null, q: null })}>Show all agents</a>
        </p>
      </Empty>
    );
  }
  if (state !== null) {
    return (
      <Empty title={`No agent is in the state “${LABELS[state]}”`}>
        <p>
          <a href={boardPath(query, { state: null })}>Show all agents</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No agent yet">
      <p>
        The first run that names an agent creates it{!archived && "; archived ones are not shown"}.
      </p>
      <FirstCommand id="first" text={pingCommand(target)} target={target} />
    </Empty>
  );
}

/** The board of agents, and the page of each. */
export const agentsPage: DashboardPage = {
  path: AGENTS_PATH,
  menu: { name: "Agents", area: "main" },
  access: teamKey("read"),
  handler: showAgents,
  routes: [
    get(`${AGENTS_PATH}/:slug`, showAgent),
    post(`${AGENTS_PATH}/:slug`, submitAgentChange, teamKey("admin")),
    post(`${AGENTS_PATH}/:slug/monitor`, submitMonitor, teamKey("admin")),
    post(`${AGENTS_PATH}/:slug/monitor/pause`, submitPause, teamKey("admin")),
    post(`${AGENTS_PATH}/:slug/monitor/resume`, submitResume, teamKey("admin")),
    post(`${AGENTS_PATH}/:slug/monitor/delete`, submitMonitorDeletion, teamKey("admin")),
  ],
};
