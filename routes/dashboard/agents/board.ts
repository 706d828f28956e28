/** Reads the board of agents: agents with their monitors, those in trouble first. */
import { agentPosition, type AgentRecord, AGENTS_PER_PAGE } from "../../../domain/agents/agents.ts";
import { compare } from "../../../domain/core/sums.ts";
import type { Parsed } from "../../../domain/core/errors.ts";
import { readQuery } from "../../../domain/core/query.ts";
import { INCIDENTS_PER_PAGE } from "../../../domain/alerts/store.ts";
import type { Flip, MonitorState } from "../../../domain/monitors/monitor.ts";
import { type MonitorRecord, MONITORS_PER_PAGE } from "../../../domain/monitors/store.ts";
import type { AgentDays } from "../../../domain/spend/agent_days.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { agentCursor, parseAgentCursor } from "../../api/agents/agents.ts";
import type { AppDeps } from "../../http/context.ts";
import { AGENTS_PATH, queryText } from "../layout/paths.ts";
import { isWell, stripStart } from "../components/monitor.tsx";
import { readDays } from "./metrics.tsx";

/** Agents per page. */
const ROWS_SHOWN = 100;

/** Maximum agents and monitors that are sorted by state. */
const SORTED_MAX = AGENTS_PER_PAGE.max;

/** Maximum flips read of an agent for its strip. */
const FLIPS_MAX = 200;

/** Days of runs and costs, including today. */
export const BOARD_DAYS = 7;

/**
 * States in the order of their urgency: `incident` is an agent that is neither down nor late and has
 * an open incident; `none` is another one without a monitor.
 */
export const BOARD_STATES = ["down", "incident", "late", "up", "paused", "new", "none"] as const;

/** One of {@link BOARD_STATES}. */
export type BoardState = MonitorState | "incident" | "none";

/** The part of the board that a URL names. */
export interface BoardQuery {
  /** Only agents in this state; null for all. */
  readonly state: BoardState | null;
  /** Only agents whose slug or name contains this text; null for all. */
  readonly q: string | null;
  /** Order: trouble first, or by slug. */
  readonly sort: "state" | "agent";
  /** True to include archived agents. */
  readonly archived: boolean;
  /** Number of agents before the page, in the order by state. */
  readonly skip: number;
  /** End of the previous page, in the order by slug. */
  readonly after: AgentsPosition | null;
}

type AgentsPosition = ReturnType<typeof agentPosition>;

/** Parses the query of the page. */
export function parseBoardQuery(text: string): Parsed<BoardQuery> {
  return readQuery(text, (query) => ({
    state: query.choice("state", BOARD_STATES) ?? null,
    q: query.text("q") || null,
    sort: query.choice("sort", ["state", "agent"]) ?? "state",
    archived: query.choice("archived", ["true", "false"]) === "true",
    skip: query.integer("skip", { default: 0, min: 0, max: 2 * SORTED_MAX }),
    after: query.place("cursor", (cursor) => parseAgentCursor(cursor, "agent"), ""),
  }));
}

/** Returns the path of a board; `changed` replaces parts of the query and goes to its first page. */
export function boardPath(
  { state, q, sort, archived }: BoardQuery,
  changed: Partial<BoardQuery> = {},
): string {
  const to = { state, q, sort, archived, skip: 0, after: null, ...changed };
  return AGENTS_PATH + queryText([
    ["state", to.state],
    ["q", to.q],
    ["sort", to.sort === "state" ? null : to.sort],
    ["archived", to.archived ? "true" : null],
    ["skip", to.skip || null],
    ["cursor", to.after && agentCursor(to.after, "agent")],
  ]);
}

/** An agent of the board; its monitor is null if it has none. */
export interface BoardRow {
  readonly record: AgentRecord;
  readonly monitor: MonitorRecord | null;
  /** Number of its open incidents. */
  readonly incidents: number;
}

/** A page of agents with their monitors. */
interface BoardPage {
  readonly rows: readonly BoardRow[];
  /** Path of the next page; null at the end. */
  readonly next: string | null;
  /** Numbers of agents by state, and of their runs; null in the order by slug. */
  readonly counts: BoardCounts | null;
  /** True if the team has more agents or monitors than are sorted. */
  readonly isCut: boolean;
  /** True if the team has monitors, or might have. */
  readonly hasMonitors: boolean;
  /** True if the team has monitors or open incidents of agents. */
  readonly hasStates: boolean;
}

interface BoardCounts {
  readonly agents: number;
  readonly running: number;
  readonly byState: ReadonlyMap<BoardState, number>;
}

/** A page of the board with its metrics. */
export interface Board extends BoardPage {
  /** Flips of the last days by agent, oldest first. */
  readonly flips: ReadonlyMap<string, readonly Flip[]>;
  /** Runs and costs of the last days by agent. */
  readonly days: ReadonlyMap<string, AgentDays>;
}

/** Reads a page of the board. */
export async function readBoard(
  deps: AppDeps,
  team: Team,
  query: BoardQuery,
  now: number,
): Promise<Board> {
  const page = query.sort === "agent"
    ? await readBySlug(deps, team, query)
    : await readByState(deps, team, query);
  const slugs = page.rows.map(({ record }) => record.agent);
  const monitored = page.rows.flatMap(({ monitor }) => monitor?.monitor.agent ?? []);
  const [flips, days] = await Promise.all([
    monitored.length === 0
      ? new Map<string, readonly Flip[]>()
      : deps.monitors.flipsOf(team, monitored, stripStart(now), FLIPS_MAX),
    readDays(deps.spend, team, slugs, now, BOARD_DAYS),
  ]);
  return { ...page, flips, days };
}

/** Reads agents by slug, with the monitors between the first and the last of them. */
async function readBySlug(deps: AppDeps, team: Team, query: BoardQuery): Promise<BoardPage> {
  const { archived, after } = query;
  const limit = ROWS_SHOWN;
  const [agents, incidents, monitors] = await Promise.all([
    deps.agents.list(team, { sort: "agent", archived, limit, after }),
    countIncidents(deps, team),
    deps.monitors.list(team, {
      state: null,
      limit: MONITORS_PER_PAGE.max,
      after: after?.agent ?? null,
    }),
  ]);
  // Only the order by last seen is ever refused.
  const { agents: records, next } = agents.ok ? agents.value : { agents: [], next: null };
  const byAgent = indexed(monitors.monitors);
  return {
    rows: records.map((record) => ({
      record,
      monitor: byAgent.get(record.agent) ?? null,
      incidents: incidents.get(record.agent) ?? 0,
    })),
    next: next === null ? null : boardPath(query, { after: next }),
    counts: null,
    isCut: false,
    hasMonitors: byAgent.size > 0,
    hasStates: byAgent.size + incidents.size > 0,
  };
}

/** Reads agents and monitors, and sorts them by urgency. */
async function readByState(deps: AppDeps, team: Team, query: BoardQuery): Promise<BoardPage> {
  const { archived, skip, state, q } = query;
  const wanted = q?.toLowerCase() ?? "";
  const [agents, incidents, monitors] = await Promise.all([
    deps.agents.list(team, { sort: "last_seen", archived, limit: SORTED_MAX, after: null }),
    countIncidents(deps, team),
    readMonitors(deps, team),
  ]);
  // A team with too many agents to be sorted has its monitors here, and all agents by slug.
  const listed = agents.ok ? agents.value : { agents: [], next: "more" };
  const byAgent = indexed(monitors.records);
  const all: Candidate[] = listed.agents.map((record) => ({
    agent: record.agent,
    record,
    monitor: byAgent.get(record.agent) ?? null,
    incidents: incidents.get(record.agent) ?? 0,
  }));
  if (listed.next !== null) {
    const known = new Set(all.map(({ agent }) => agent));
    for (const [agent, monitor] of byAgent) {
      if (known.has(agent)) continue;
      all.push({ agent, record: null, monitor, incidents: incidents.get(agent) ?? 0 });
    }
  }
  const hasText = ({ agent, record }: Candidate) =>
    agent.toLowerCase().includes(wanted) || (record?.name ?? "").toLowerCase().includes(wanted);
  const shown = all.filter((row) => hasText(row) && (state === null || stateOf(row) === state))
    .sort(byUrgency);
  const end = skip + ROWS_SHOWN;
  return {
    rows: await complete(deps, team, shown.slice(skip, end), archived),
    next: end < shown.length ? boardPath(query, { skip: end }) : null,
    counts: countsOf(all),
    isCut: listed.next !== null || monitors.hasMore,
    hasMonitors: byAgent.size > 0,
    hasStates: byAgent.size + incidents.size > 0,
  };
}

/** A row whose agent may have to be read. */
interface Candidate extends Omit<BoardRow, "record"> {
  readonly agent: string;
  readonly record: AgentRecord | null;
}

/** Reads the monitors of a team, as many as are sorted. */
async function readMonitors({ monitors }: AppDeps, team: Team) {
  const records: MonitorRecord[] = [];
  let after: string | null = null;
  do {
    const page = await monitors.list(team, { state: null, limit: MONITORS_PER_PAGE.max, after });
    records.push(...page.monitors);
    after = page.next;
  } while (after !== null && records.length < SORTED_MAX);
  return { records, hasMore: after !== null };
}

/** Reads the agents that the list did not have: those seen before all others. */
async function complete(
  { agents }: AppDeps,
  team: Team,
  rows: readonly Candidate[],
  archived: boolean,
): Promise<BoardRow[]> {
  const read = await Promise.all(rows.map(async ({ agent, record, ...row }) => ({
    ...row,
    record: record ?? await agents.read(team, agent),
  })));
  return read.flatMap(({ record, ...row }) =>
    record === null || (record.archived && !archived) ? [] : [{ record, ...row }]
  );
}

/** Counts the open incidents of each agent. */
async function countIncidents({ incidents }: AppDeps, team: Team) {
  const page = await incidents.list(team, {
    ...{ state: "unresolved", rule: null, severity: null, after: null, agent: null },
    ...{ limit: INCIDENTS_PER_PAGE.max, fromMs: 0, toMs: Infinity },
  });
  const counts = new Map<string, number>();
  for (const { group: { agent } } of page.incidents) {
    if (agent !== undefined) counts.set(agent, (counts.get(agent) ?? 0) + 1);
  }
  return counts;
}

function indexed(records: readonly MonitorRecord[]): ReadonlyMap<string, MonitorRecord> {
  return new Map(records.map((record) => [record.monitor.agent, record]));
}

function stateOf({ monitor, incidents }: Omit<BoardRow, "record">): BoardState {
  const state = monitor?.monitor.state ?? "none";
  return isWell(state) && incidents > 0 ? "incident" : state;
}

function countsOf(all: readonly Candidate[]): BoardCounts {
  const byState = new Map<BoardState, number>();
  for (const row of all) byState.set(stateOf(row), (byState.get(stateOf(row)) ?? 0) + 1);
  const running = all.reduce(
    (sum, { record, monitor }) => sum + (record?.activity?.running ?? monitor?.running ?? 0),
    0,
  );
  return { agents: all.length, running, byState };
}

/** Compares by state; in a state, the latest change or run first, then by slug. */
function byUrgency(a: Candidate, b: Candidate): number {
  return BOARD_STATES.indexOf(stateOf(a)) - BOARD_STATES.indexOf(stateOf(b)) ||
    latestOf(b) - latestOf(a) || compare(a.agent, b.agent);
}

function latestOf({ record, monitor }: Candidate): number {
  const isTrouble = monitor?.monitor.state === "down" || monitor?.monitor.state === "late";
  return isTrouble ? monitor.monitor.since : record?.activity?.lastSeen ?? -1;
}
