/** Reads the board of agents: agents with their monitors, those in trouble first. */
import { nullIfRefused } from "../../../domain/core/errors.ts";
import { agentPosition, AGENTS_PER_PAGE } from "../../../domain/agents/agents.ts";
import { compare } from "../../../domain/core/sums.ts";
import { Query } from "../../../domain/core/query.ts";
import type { Monitor } from "../../../domain/monitors/monitor.ts";
import { MONITORS_PER_PAGE } from "../../../domain/monitors/row.ts";
import { agentCursor, parseAgentCursor } from "../../api/agents/agents.ts";
import type { Reader } from "../layout/page.tsx";
import { readOpenIncidents } from "../alerts/entries.tsx";
import { AGENTS_PATH, queryText } from "../layout/paths.ts";
import { AGENT_STATES, agentState, stripStart } from "../components/monitor.tsx";
import type { PageTime } from "../components/elements.tsx";
import { durationsOf, readDays } from "./agent_load.ts";

/** Agents per page. */
const ROWS_SHOWN = 100;

/** Maximum agents and monitors that are sorted by state. */
const SORTED_MAX = AGENTS_PER_PAGE.max;

/** Maximum flips read of an agent for its strip. */
const FLIPS_MAX = 200;

/** Latest runs of the team whose durations are compared: one read for all agents. */
const RUNS_READ = 200;

/** Agents whose rhythm is searched while no agent has a monitor, and proposals shown. */
const SEARCHED_MAX = 10, PROPOSALS_SHOWN = 3;

/** Days of runs and costs, including today. */
export const BOARD_DAYS = 7;

/** Parses the query of the page. */
export function parseBoardQuery(text: string) {
  const query = new Query(text);
  return {
    /** Only agents in this state; null for all. */
    state: query.choice("state", AGENT_STATES) ?? null,
    /** Only agents whose slug or name contains this text; null for all. */
    q: query.text("q") || null,
    /** True for the order by slug, which has all agents of a team of any size; else trouble first. */
    isBySlug: query.choice("sort", ["state", "agent"]) === "agent",
    /** True to include archived agents. */
    archived: query.choice("archived", ["true", "false"]) === "true",
    /** End of the previous page. */
    after: query.place("cursor", (cursor) => parseAgentCursor(cursor, "agent"), ""),
  };
}

/** The part of the board that a URL names. */
export type BoardQuery = ReturnType<typeof parseBoardQuery>;

/** Returns the path of a page of the board; by default of the first one. */
export function boardPath(query: BoardQuery, after: BoardQuery["after"] = null): string {
  const { state, q, isBySlug, archived } = query;
  return AGENTS_PATH + queryText([
    ["state", state],
    ["q", q],
    ["sort", isBySlug ? "agent" : null],
    ["archived", archived ? "true" : null],
    ["cursor", after && agentCursor(after, "agent")],
  ]);
}

export type BoardData = Awaited<ReturnType<typeof loadBoard>>;

/** An agent of the board with its metrics. */
export type BoardRow = BoardData["rows"][number];

export async function loadBoard(reader: Reader, query: BoardQuery, time: PageTime) {
  const { deps, team } = reader;
  const { isBySlug, archived, after } = query;
  const from = isBySlug ? after : null;
  const sort = isBySlug ? "agent" : "last_seen";
  const [listed, monitors, open, latest] = await Promise.all([
    deps.agents.list(team, { sort, archived, limit: SORTED_MAX, after: from }).catch(nullIfRefused),
    readMonitors(reader, from?.agent ?? null),
    readOpenIncidents(reader),
    deps.runList.page(team, { from: null, to: null }, null, RUNS_READ),
  ]);
  // A team with too many agents to be sorted has those in trouble here, and all by slug.
  const { agents, next } = listed ?? { agents: [], next: null };
  const hasMore = !isBySlug && (listed === null || next !== null);
  const known = new Set(agents.map(({ agent }) => agent));
  const unlisted = [...monitors.byAgent.values()].filter((monitor) =>
    hasMore && isLateOrDown(monitor) && !known.has(monitor.agent)
  ).slice(0, ROWS_SHOWN);
  const read = await Promise.all(unlisted.map(({ agent }) => deps.agents.read(team, agent)));
  const ofAgents = Map.groupBy(open, ({ group }) => group.agent);
  const all = [...agents, ...read].flatMap((record) => {
    if (record === null || (record.archived && !archived)) return [];
    const monitor = monitors.byAgent.get(record.agent) ?? null;
    const incidents = ofAgents.get(record.agent)?.length ?? 0;
    return [{ ...record, monitor, incidents, state: agentState(monitor, incidents) }];
  });
  const text = query.q?.toLowerCase() ?? "";
  const matching = all.filter(({ state, agent, name }) =>
    (query.state === null || query.state === state) &&
    [agent, name ?? ""].some((of) => of.toLowerCase().includes(text))
  );
  if (!isBySlug) matching.sort(byUrgency);
  const start = matching.findIndex(({ agent }) => agent === after?.agent) + 1;
  const shown = matching.slice(start, start + ROWS_SHOWN);
  const last = matching.length > start + ROWS_SHOWN ? shown.at(-1) : undefined;
  const slugs = shown.map(({ agent }) => agent);
  const monitored = slugs.filter((agent) => monitors.byAgent.has(agent));
  const hasMonitors = monitors.byAgent.size > 0;
  const candidates = shown.filter(({ archived }) => !hasMonitors && !archived)
    .slice(0, SEARCHED_MAX);
  const [flips, days, proposals] = await Promise.all([
    deps.monitors.flipsOf(team, monitored, stripStart(time.nowMs), FLIPS_MAX),
    readDays(reader, slugs, time.nowMs, BOARD_DAYS),
    Promise.all(candidates.map(async ({ agent }) => {
      const proposal = await deps.monitors.proposal(team, agent, time.zone);
      return proposal === null ? [] : [{ agent, proposal }];
    })),
  ]);
  const runs = Map.groupBy(latest.rows, ({ agent }) => agent);
  return {
    rows: shown.map((row) => ({
      ...row,
      /** Flips of the last days, oldest first. */
      flips: flips.get(row.agent) ?? [],
      last: flips.get(row.agent)?.at(-1),
      /** Runs and costs of the last days. */
      days: days(row.agent),
      /** Durations of its runs among the latest ones of the team, shortest first. */
      durations: durationsOf(runs.get(row.agent) ?? []),
    })),
    /** End of the page; null for the last one. */
    next: last ? agentPosition(last) : isBySlug ? next : null,
    /** All agents that are sorted by state. */
    all: isBySlug ? [] : all,
    /** True if the team has more agents or monitors than are sorted. */
    isCut: hasMore || (monitors.hasMore && !isBySlug),
    hasMonitors,
    hasStates: hasMonitors || all.some(({ state }) => state !== "none"),
    /** Proposals of monitors while no agent has one. */
    proposals: proposals.flat().slice(0, PROPOSALS_SHOWN),
  };
}

/** Reads the monitors of a team from an agent on, as many as are sorted. */
async function readMonitors({ deps, team }: Reader, from: string | null) {
  const byAgent = new Map<string, Monitor>();
  let after = from;
  do {
    const page = await deps.monitors.list(team, {
      state: null,
      limit: MONITORS_PER_PAGE.max,
      after,
    });
    for (const { monitor } of page.monitors) byAgent.set(monitor.agent, monitor);
    after = page.next;
  } while (after !== null && byAgent.size < SORTED_MAX);
  return { byAgent, hasMore: after !== null };
}

function isLateOrDown(monitor: Monitor | null): monitor is Monitor {
  return monitor?.state === "down" || monitor?.state === "late";
}

type Sorted = Pick<BoardRow, "agent" | "activity" | "monitor" | "state">;

/** Compares by state; in a state, the latest change or run first, then by slug. */
function byUrgency(a: Sorted, b: Sorted): number {
  const latestOf = ({ monitor, activity }: Sorted) =>
    isLateOrDown(monitor) ? monitor.since : activity?.lastSeen ?? -1;
  return AGENT_STATES.indexOf(a.state) - AGENT_STATES.indexOf(b.state) ||
    latestOf(b) - latestOf(a) || compare(a.agent, b.agent);
}
