/**
 * Agents: created by the first run that names them, up to the plan's cap (decision 39), and what their
 * runs come to.
 *
 * @module
 */
import { type Parsed, type Problem, refuse } from "../core/errors.ts";
import { integerOf, parseQuery } from "../core/query.ts";
import { show } from "../core/text.ts";
import type { RunSummary } from "../runs/summary.ts";
import { type Planned, planOfTeam } from "../teams/plans.ts";
import type { RunId } from "../core/ids.ts";
import type { RunStatus } from "../runs/run.ts";

/**
 * Why a team may not have one more agent; null when it may.
 *
 * @param isArchived whether it is one that was archived and would come back
 */
export function agentCapRefusal(team: Planned, agents: number, isArchived = false): Problem | null {
  const { agentsMax } = planOfTeam(team);
  const [cannot, instead] = isArchived
    ? ["The agent is archived and cannot come back", "archive another one"]
    : ["Cannot create another agent", "use an existing agent, archive one"];
  return agents < agentsMax ? null : {
    code: "agent_cap_reached",
    message: `${cannot}: the ${team.tier} plan has ${agentsMax} and all are in use; ` +
      `${instead} or change the plan`,
    field: "agent",
  };
}

/** What a run says of its agent. */
export interface AgentRun {
  /** The agent's slug. */
  readonly agent: string;
  /** The run. */
  readonly id: RunId;
  /** Its status. */
  readonly status: RunStatus;
  /** Start by the client's clock, unix milliseconds. */
  readonly startedAt: number;
  /** What it is sorted by (`sortedAtOf`), unix milliseconds. */
  readonly sortedAt: number;
  /** Arrival of the later of opening and close, unix milliseconds. */
  readonly receivedAt: number;
}

/** What the runs of an agent come to. */
export interface AgentActivity {
  /** How many runs, however they ended. */
  readonly runs: number;
  /** How many of them are `success`. */
  readonly succeeded: number;
  /** How many of them are `failed`. */
  readonly failed: number;
  /** How many of them are `running`. */
  readonly running: number;
  /** Latest arrival of an opening or a close, unix milliseconds. */
  readonly lastSeen: number;
  /**
   * The run that started last; of several at one instant the one with the greatest id. Null when it was
   * deleted and no other is left.
   */
  readonly lastRun: LastRun | null;
}

/** The run of an agent that started last. */
export type LastRun = Pick<AgentRun, "id" | "status" | "startedAt" | "sortedAt">;

/** A run as its agent counts it; null until its opening says which agent that is. */
export function agentRunOf(id: RunId, summary: RunSummary | null): AgentRun | null {
  if (!summary?.contribution || !summary.times || !summary.listed) return null;
  const { agent, status } = summary.contribution.labels;
  return agent === null
    ? null
    : { agent, id, status, ...summary.times, sortedAt: summary.listed.at };
}

/**
 * Counts a run in, or what changed of one that is counted already.
 *
 * Counts change by differences, and the rest are maxima of what never gets less: the order in which
 * runs and their states come cannot matter.
 *
 * @param known what the agent's runs came to so far
 * @param before the run as it is counted in `known`; null when it is not
 */
export function addAgentRun(
  known: AgentActivity | null,
  before: AgentRun | null,
  after: AgentRun,
): AgentActivity {
  const change = (status: RunStatus) =>
    Number(after.status === status) - Number(before?.status === status);
  const last = known?.lastRun ?? null;
  return {
    runs: (known?.runs ?? 0) + (before === null ? 1 : 0),
    succeeded: (known?.succeeded ?? 0) + change("success"),
    failed: (known?.failed ?? 0) + change("failed"),
    running: (known?.running ?? 0) + change("running"),
    lastSeen: Math.max(known?.lastSeen ?? 0, after.receivedAt),
    lastRun: laterRun(last, lastRunAs(after)),
  };
}

/**
 * Counts a run out that is deleted. When the agent was last seen stays; which run was its last has to be
 * found out anew when it was this one, so there is none then.
 */
export function takeAgentRun(known: AgentActivity, { id, status }: AgentRun): AgentActivity {
  const change = (of: RunStatus) => Number(status === of);
  return {
    runs: known.runs - 1,
    succeeded: known.succeeded - change("success"),
    failed: known.failed - change("failed"),
    running: known.running - change("running"),
    lastSeen: known.lastSeen,
    lastRun: known.lastRun?.id === id ? null : known.lastRun,
  };
}

/** A run as the last one of its agent. */
export function lastRunAs({ id, status, startedAt, sortedAt }: AgentRun): LastRun {
  return { id, status, startedAt, sortedAt };
}

/** The later of two runs; a run that is told again is as told last. */
export function laterRun(a: LastRun | null, b: LastRun | null): LastRun | null {
  if (a === null || b === null) return a ?? b;
  return compareStarts(b, a) >= 0 ? b : a;
}

/** What two sets of runs come to together. */
export function joinActivities(a: AgentActivity, b: AgentActivity): AgentActivity {
  return {
    runs: a.runs + b.runs,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
    running: a.running + b.running,
    lastSeen: Math.max(a.lastSeen, b.lastSeen),
    lastRun: laterRun(a.lastRun, b.lastRun),
  };
}

/** Notes that an agent was seen, without a run to count. */
export function seenLater(known: AgentActivity | null, atMs: number): AgentActivity {
  const none = { runs: 0, succeeded: 0, failed: 0, running: 0, lastSeen: 0, lastRun: null };
  return { ...known ?? none, lastSeen: Math.max(known?.lastSeen ?? 0, atMs) };
}

type Start = Pick<AgentRun, "id" | "sortedAt">;

function compareStarts(a: Start, b: Start): number {
  return a.sortedAt - b.sortedAt || compareTexts(a.id, b.id);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** An agent as it is read back. */
export interface AgentRecord {
  /** Its slug. */
  readonly agent: string;
  /** When its first run arrived, unix milliseconds. */
  readonly firstSeen: number;
  /** What its runs come to; null until the first is summed up. */
  readonly activity: AgentActivity | null;
  /** What people see in place of the slug; null for the slug. */
  readonly name: string | null;
  /** Anything worth knowing; null for nothing. */
  readonly notes: string | null;
  /** Whether it left its place to others. */
  readonly archived: boolean;
}

/** Agents on one page of the list. */
export const AGENTS_PER_PAGE = { default: 100, max: 1_000 } as const;

/** Agents of a team that are sorted in memory; more are listed by slug alone. */
export const AGENTS_SORTED_MAX = 10_000;

/** What agents can be sorted by: when they were last seen, the latest first, or by slug. */
export const AGENT_SORTS = ["last_seen", "agent"] as const;

/** One of {@link AGENT_SORTS}. */
export type AgentSort = typeof AGENT_SORTS[number];

/** Where a page of agents ends. */
export interface AgentPosition {
  /** Slug of the last agent. */
  readonly agent: string;
  /** When it had been seen last; null for one without a run that is summed up. */
  readonly lastSeen: number | null;
}

/** Which agents to list. */
export interface AgentsQuery {
  /** Their order. */
  readonly sort: AgentSort;
  /** How many at most. */
  readonly limit: number;
  /** Behind whom; null for from the first. */
  readonly after: AgentPosition | null;
  /** Whether archived ones are among them. */
  readonly archived: boolean;
}

/** A page of agents. */
export interface AgentPage {
  /** The agents in order. */
  readonly agents: readonly AgentRecord[];
  /** Where the next page starts after, or null at the end. */
  readonly next: AgentPosition | null;
}

/**
 * Reads the query of a list of agents.
 *
 * @param text the query without its question mark
 * @param positionOf reads a cursor; null when it is none of this order
 */
export function parseAgentsQuery(
  text: string,
  positionOf: (cursor: string, sort: AgentSort) => AgentPosition | null,
): Parsed<AgentsQuery> {
  const parameters = parseQuery(text);
  if (!parameters.ok) return parameters;
  const sent = parameters.value;
  const wanted = sent.get("sort") ?? AGENT_SORTS[0];
  const sort = AGENT_SORTS.find((each) => each === wanted);
  if (sort === undefined) {
    const known = AGENT_SORTS.map((each) => `"${each}"`).join(", ");
    const message = `Parameter "sort" must be one of ${known}: got ${show(wanted)}`;
    return refuse("invalid_field", message, "sort");
  }
  const limit = integerOf(sent, "limit", AGENTS_PER_PAGE);
  if (!limit.ok) return limit;
  const archived = sent.get("archived") ?? "false";
  if (archived !== "true" && archived !== "false") {
    const message = `Parameter "archived" must be "true" or "false": got ${show(archived)}`;
    return refuse("invalid_field", message, "archived");
  }
  const cursor = sent.get("cursor");
  const after = cursor === undefined ? null : positionOf(cursor, sort);
  if (cursor !== undefined && after === null) {
    const message = '"cursor" must be the "cursor" of the page before, in the same order';
    return refuse("invalid_field", message, "cursor");
  }
  return { ok: true, value: { sort, limit: limit.value, after, archived: archived === "true" } };
}

/** Where an agent stands. */
export function agentPosition({ agent, activity }: AgentRecord): AgentPosition {
  return { agent, lastSeen: activity?.lastSeen ?? null };
}

/** Takes the page that was asked for out of all agents of a team, the last seen first. */
export function pageByLastSeen(
  all: readonly AgentRecord[],
  { limit, after }: Pick<AgentsQuery, "limit" | "after">,
): AgentPage {
  return agentPageOf(afterLastSeen(all, agentPosition, after).slice(0, limit + 1), limit);
}

/** Those behind a place, the last seen first. */
export function afterLastSeen<T>(
  all: readonly T[],
  positionOf: (each: T) => AgentPosition,
  after: AgentPosition | null,
): T[] {
  return all
    .map((each) => ({ each, position: positionOf(each) }))
    .filter(({ position }) => after === null || compareLastSeen(position, after) > 0)
    .sort((a, b) => compareLastSeen(a.position, b.position))
    .map(({ each }) => each);
}

/** A page of agents that are in order, of which one more than fits was looked for. */
export function agentPageOf(ahead: readonly AgentRecord[], limit: number): AgentPage {
  const agents = ahead.slice(0, limit);
  const last = ahead.length > limit ? agents.at(-1) : undefined;
  return { agents, next: last === undefined ? null : agentPosition(last) };
}

/** Why a team's agents are not sorted by when they were seen; null when they are. */
export function sortRefusal(agents: number): Problem | null {
  return agents <= AGENTS_SORTED_MAX ? null : {
    code: "invalid_field",
    message: `More than ${AGENTS_SORTED_MAX} agents are listed by slug alone: use "sort=agent"`,
    field: "sort",
  };
}

/** The latest first, those never seen last; by slug where that is the same. */
function compareLastSeen(a: AgentPosition, b: AgentPosition): number {
  return (b.lastSeen ?? -1) - (a.lastSeen ?? -1) || compareTexts(a.agent, b.agent);
}
