/**
 * Agents: created by the first run that names them, up to the plan's cap (decision 39), and what their
 * runs come to.
 *
 * @module
 */
import { type Parsed, type Problem, refuse } from "../core/errors.ts";
import { parseChoice, parseInteger, parsePlace, parseQuery } from "../core/query.ts";
import { show } from "../core/text.ts";
import { type Planned, planOfTeam } from "../teams/plans.ts";
import type { Team } from "../teams/team.ts";
import type { AgentPatch } from "./change.ts";
import type { AuditEntry } from "../teams/audit_log.ts";
import { type AgentActivity, compareTexts } from "./activity.ts";

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
  const sort = parseChoice(sent, "sort", AGENT_SORTS);
  if (!sort.ok) return sort;
  const order = sort.value ?? "last_seen";
  const limit = parseInteger(sent, "limit", AGENTS_PER_PAGE);
  if (!limit.ok) return limit;
  const archived = sent.get("archived") ?? "false";
  if (archived !== "true" && archived !== "false") {
    const message = `Parameter "archived" must be "true" or "false": got ${show(archived)}`;
    return refuse("invalid_field", message, "archived");
  }
  const after = parsePlace(sent, "cursor", (cursor) => positionOf(cursor, order));
  if (!after.ok) {
    const message = '"cursor" must be the "cursor" of the page before, in the same order';
    return refuse("invalid_field", message, "cursor");
  }
  const page = { sort: order, limit: limit.value, after: after.value };
  return { ok: true, value: { ...page, archived: archived === "true" } };
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

/** The agents of all teams, and what their runs come to. */
export interface AgentStore {
  /** Reads one; null when the team has none of that slug. */
  read(team: Team, slug: string): Promise<AgentRecord | null>;
  /** Lists a page, or says why not in this order. */
  list(team: Team, query: AgentsQuery): Promise<Parsed<AgentPage>>;
  /**
   * Changes one, or says why not; null when the team has none of that slug.
   *
   * @param made identifier of the credential that does it, and when, for the audit log
   */
  change(
    team: Team,
    slug: string,
    patch: AgentPatch,
    made: Pick<AuditEntry, "at"> & { readonly by: string },
  ): Promise<Parsed<AgentRecord> | null>;
}
