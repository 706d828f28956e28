/**
 * Agents, with the totals of their runs. An agent is created by the first run that names it, up to
 * the plan's cap (decision 39).
 *
 * @module
 */
import { type PageBounds, Query } from "../core/query.ts";
import { type Planned, planOfTeam } from "../teams/plans.ts";
import { addCounts, compare, subtractCounts } from "../core/sums.ts";
import { check } from "../core/validate.ts";
import type { Body } from "../core/body.ts";
import type { Problem } from "../core/errors.ts";
import { AGENT_CHARS_MAX, AGENT_NOTES_CHARS_MAX, ARCHIVED_AGENTS_MAX } from "../core/limits.ts";
import { z } from "zod";
import { optional, text } from "../core/fields.ts";
import { isName } from "../core/rules.ts";
import type { RunId } from "../core/ids.ts";
import type { RunStatus } from "../runs/run.ts";
import type { RunSummary } from "../runs/summary.ts";

/**
 * Returns why a team may not have another agent; null if it may.
 *
 * @param isArchived true if the agent exists but is archived, and would be restored
 */
export function agentCapRefusal(team: Planned, agents: number, isArchived = false): Problem | null {
  const { agentsMax } = planOfTeam(team);
  const [cannot, instead] = isArchived
    ? ["The agent is archived and cannot be restored", "archive another one"]
    : ["Cannot create another agent", "use an existing agent, archive one"];
  return agents < agentsMax ? null : {
    code: "agent_cap_reached",
    message: `${cannot}: the ${team.tier} plan has ${agentsMax} and all are in use; ` +
      `${instead} or change the plan`,
    field: "agent",
  };
}

/** Returns whether the plan of a team limits its agents. */
export function hasAgentCap(team: Planned): boolean {
  return planOfTeam(team).agentsMax !== Infinity;
}

/** A stored agent with its activity. */
export interface AgentRecord {
  /** Agent's slug. */
  readonly agent: string;
  /** Arrival of its first run, unix milliseconds. */
  readonly firstSeen: number;
  /** Totals of its runs; null until the first is summarized. */
  readonly activity: AgentActivity | null;
  /** Display name; null to show the slug. */
  readonly name: string | null;
  /** Notes; null for none. */
  readonly notes: string | null;
  /** True if it is archived and does not count against the plan's cap. */
  readonly archived: boolean;
}

/** Default and maximum agents per page. */
export const AGENTS_PER_PAGE = { default: 100, max: 1_000 } as const;

/** Maximum agents of a team that are sorted in memory; more can only be listed by slug. */
export const AGENTS_SORTED_MAX = 10_000;

/** Sort orders of agents: by last seen, latest first, or by slug. */
export const AGENT_SORTS = ["last_seen", "agent"] as const;

/** One of {@link AGENT_SORTS}. */
export type AgentSort = typeof AGENT_SORTS[number];

/** Position at which a page of agents ends. */
export interface AgentPosition {
  /** Slug of the last agent. */
  readonly agent: string;
  /** Time it was last seen, unix milliseconds; null for an agent without a summarized run. */
  readonly lastSeen: number | null;
}

/** A query for a list of agents. */
export interface AgentsQuery extends PageBounds<AgentPosition> {
  /** Sort order. */
  readonly sort: AgentSort;
  /** True to include archived agents. */
  readonly archived: boolean;
}

/** A page of agents. */
export interface AgentPage {
  /** Agents, in order. */
  readonly agents: readonly AgentRecord[];
  /** Position after which the next page starts; null at the end. */
  readonly next: AgentPosition | null;
}

/**
 * Parses the query of a list of agents.
 *
 * @param text the query without its question mark
 * @param positionOf parses a cursor; null if it is invalid or belongs to another order
 */
export function parseAgentsQuery(
  text: string,
  positionOf: (cursor: string, sort: AgentSort) => AgentPosition | null,
): AgentsQuery {
  const query = new Query(text);
  const sort = query.choice("sort", AGENT_SORTS) ?? "last_seen";
  const limit = query.integer("limit", AGENTS_PER_PAGE);
  const archived = query.choice("archived", ["true", "false"]) === "true";
  const placeOf = (cursor: string) => positionOf(cursor, sort);
  const after = query.place("cursor", placeOf, ", in the same order");
  return { sort, limit, after, archived };
}

/** Returns the position of an agent in the list. */
export function agentPosition({ agent, activity }: AgentRecord): AgentPosition {
  return { agent, lastSeen: activity?.lastSeen ?? null };
}

/** Returns the requested page of a team's agents, last seen first. */
export function pageByLastSeen(
  all: readonly AgentRecord[],
  { limit, after }: Pick<AgentsQuery, "limit" | "after">,
): AgentPage {
  return agentPageOf(afterLastSeen(all, agentPosition, after).slice(0, limit + 1), limit);
}

/** Returns the items after a position, last seen first. */
export function afterLastSeen<T>(
  all: readonly T[],
  positionOf: (item: T) => AgentPosition,
  after: AgentPosition | null,
): T[] {
  return all
    .map((item) => ({ item, position: positionOf(item) }))
    .filter(({ position }) => after === null || compareLastSeen(position, after) > 0)
    .sort((a, b) => compareLastSeen(a.position, b.position))
    .map(({ item }) => item);
}

/** Returns a page of sorted agents; `ahead` has one additional agent if there is a next page. */
export function agentPageOf(ahead: readonly AgentRecord[], limit: number): AgentPage {
  const agents = ahead.slice(0, limit);
  const last = ahead.length > limit ? agents.at(-1) : undefined;
  return { agents, next: last === undefined ? null : agentPosition(last) };
}

/** Returns why a team's agents cannot be sorted by last seen; null if they can. */
export function sortRefusal(agents: number): Problem | null {
  return agents <= AGENTS_SORTED_MAX ? null : {
    code: "invalid_field",
    message: `More than ${AGENTS_SORTED_MAX} agents can only be sorted by slug: use "sort=agent"`,
    field: "sort",
  };
}

/** Compares by last seen, latest first, then by slug; agents never seen come last. */
function compareLastSeen(a: AgentPosition, b: AgentPosition): number {
  return (b.lastSeen ?? -1) - (a.lastSeen ?? -1) || compare(a.agent, b.agent);
}

/** Texts of an agent that people edit. */
export interface AgentTexts {
  /** Display name; absent to show the slug. */
  readonly name?: string;
  /** Notes; absent for none. */
  readonly notes?: string;
}

/** Checks a `PATCH /v1/agents/{slug}`. */
export function parseAgentPatch(body: Body): AgentPatch {
  return check(agentPatchBody, body.value);
}

/** Returns the texts of an agent after a change; the empty text removes one. */
export function patchedTexts(stored: AgentTexts, { name, notes }: AgentPatch): AgentTexts {
  const now = { name: name ?? stored.name ?? "", notes: notes ?? stored.notes ?? "" };
  return {
    ...now.name === "" ? {} : { name: now.name },
    ...now.notes === "" ? {} : { notes: now.notes },
  };
}

/** Returns why a team may not archive another agent; null if it may. */
export function archiveRefusal(archived: number): Problem | null {
  return archived < ARCHIVED_AGENTS_MAX ? null : {
    code: "agent_cap_reached",
    message: `Cannot archive another agent: ${ARCHIVED_AGENTS_MAX} are archived; ` +
      "restore one of them instead of creating a new one",
    field: "archived",
  };
}

/**
 * Body of `PATCH /v1/agents/{slug}`.
 *
 * @internal
 */
export const agentPatchBody = z.object({
  name: optional(
    z.custom<string>(
      (value) => value === "" || isName(value, AGENT_CHARS_MAX),
      `empty or a name of 1 to ${AGENT_CHARS_MAX} characters, ` +
        "well-formed, without control characters or surrounding white space",
    ).meta({ type: "string", maxLength: AGENT_CHARS_MAX }),
  ).describe("Display name; empty to use the slug."),
  notes: optional(text(AGENT_NOTES_CHARS_MAX)).describe("Free text; empty to remove it."),
  archived: optional(z.boolean("true or false"))
    .describe("True to archive the agent, false to restore it."),
});

/**
 * A checked `PATCH /v1/agents/{slug}`; undefined fields stay unchanged.
 *
 * @internal
 */
export type AgentPatch = Readonly<z.output<typeof agentPatchBody>>;

/** A run as counted by its agent. */
export interface AgentRun {
  /** Agent's slug. */
  readonly agent: string;
  /** The run. */
  readonly id: RunId;
  /** Its status. */
  readonly status: RunStatus;
  /** Start by the client's clock, unix milliseconds. */
  readonly startedAt: number;
  /** Sort instant (`sortedAtOf`), unix milliseconds. */
  readonly sortedAt: number;
  /** Arrival of the later of opening and close, unix milliseconds; no call is an idle close. */
  readonly receivedAt: number;
}

/** Counts of an agent without runs. */
export const NO_AGENT_RUNS = {
  /** Number of runs in any status. */
  runs: 0,
  /** Number of runs in status `success`. */
  succeeded: 0,
  /** Number of runs in status `failed`. */
  failed: 0,
  /** Number of runs in status `running`. */
  running: 0,
};

/** Numbers of runs of an agent. */
export type AgentRunCounts = Readonly<typeof NO_AGENT_RUNS>;

/** Totals over the runs of an agent. */
export interface AgentActivity extends AgentRunCounts {
  /** Latest arrival of an opening or a close, unix milliseconds. */
  readonly lastSeen: number;
  /**
   * Run that started last; of several at the same instant, the one with the greatest id. Null if it
   * was deleted and no other run is left.
   */
  readonly lastRun: LastRun | null;
}

const NO_ACTIVITY: AgentActivity = { ...NO_AGENT_RUNS, lastSeen: 0, lastRun: null };

/** The run of an agent that started last. */
export type LastRun = Pick<AgentRun, "id" | "status" | "startedAt" | "sortedAt">;

/** Returns a run as its agent counts it; null until its opening names the agent. */
export function agentRunOf(id: RunId, summary: RunSummary | null): AgentRun | null {
  if (!summary?.contribution || !summary.times) return null;
  const { contribution, times, listed, seen, shown } = summary;
  const { agent, status } = contribution.labels;
  // A run that is closed because it is idle was not seen then.
  const seenAt = seen.closedBy === "idle" ? shown.openedAt : null;
  const receivedAt = seenAt ?? times.receivedAt;
  return agent === null
    ? null
    : { agent, id, status, startedAt: times.startedAt, receivedAt, sortedAt: listed.at };
}

/**
 * Adds a run, or applies the change of a run that is already counted.
 *
 * Counts change by differences, and the other fields are maxima. So the order in which runs and
 * their states arrive does not matter.
 *
 * @param activity totals of the agent's runs so far
 * @param before the run as counted in `activity`; null if it is not counted yet
 */
export function addAgentRun(
  activity: AgentActivity | null,
  before: AgentRun | null,
  after: AgentRun,
): AgentActivity {
  const current = activity ?? NO_ACTIVITY;
  return {
    ...addCounts(current, subtractCounts(countsOf(after), countsOf(before))),
    lastSeen: Math.max(current.lastSeen, after.receivedAt),
    lastRun: laterRun(current.lastRun, lastRunAs(after)),
  };
}

function countsOf(run: AgentRun | null): AgentRunCounts {
  if (run === null) return NO_AGENT_RUNS;
  const count = (status: RunStatus) => Number(run.status === status);
  return {
    runs: 1,
    succeeded: count("success"),
    failed: count("failed"),
    running: count("running"),
  };
}

/**
 * Subtracts a deleted run. The last-seen time stays. If it was the last run, `lastRun` becomes
 * null, because the previous one must be searched for.
 */
export function subtractAgentRun(activity: AgentActivity, run: AgentRun): AgentActivity {
  const lastRun = activity.lastRun?.id === run.id ? null : activity.lastRun;
  return { ...subtractCounts(activity, countsOf(run)), lastRun };
}

/** Returns a run as the last run of its agent. */
export function lastRunAs({ id, status, startedAt, sortedAt }: AgentRun): LastRun {
  return { id, status, startedAt, sortedAt };
}

/** Returns the later of two runs; of two states of one run, the second. */
export function laterRun(a: LastRun | null, b: LastRun | null): LastRun | null {
  if (a === null || b === null) return a ?? b;
  return compareStarts(b, a) >= 0 ? b : a;
}

/** Adds the totals of two sets of runs. */
export function addActivities(a: AgentActivity, b: AgentActivity): AgentActivity {
  const { lastSeen, lastRun, ...counts } = b;
  return { ...withLastSeen(addCounts(a, counts), lastSeen), lastRun: laterRun(a.lastRun, lastRun) };
}

/** Records that an agent was seen, without counting a run. */
export function withLastSeen(activity: AgentActivity | null, atMs: number): AgentActivity {
  const current = activity ?? NO_ACTIVITY;
  return { ...current, lastSeen: Math.max(current.lastSeen, atMs) };
}

type Start = Pick<AgentRun, "id" | "sortedAt">;

function compareStarts(a: Start, b: Start): number {
  return a.sortedAt - b.sortedAt || compare(a.id, b.id);
}

/** Returns whether an agent is among patterns; `*` at the end of one matches any rest. */
export function matchesAgent(patterns: readonly string[], agent: string | null): boolean {
  if (patterns.length === 0) return true;
  return patterns.some((pattern) => {
    if (!pattern.endsWith("*")) return pattern === agent;
    return pattern === "*" || agent !== null && agent.startsWith(pattern.slice(0, -1));
  });
}

/** Prefix of the agents under which the calls of judges are in the ledger. */
export const JUDGE_AGENT_PREFIX = "judge:";

/** Returns whether an agent's runs are calls of a judge. */
export function isJudgeAgent(agent: string | null): boolean {
  return agent?.startsWith(JUDGE_AGENT_PREFIX) === true;
}

/**
 * Returns whether a rule, check or judge for agents applies to runs of one. The calls of judges are
 * nobody's work, so neither a bare `*` nor an empty list names their agents (decision 56).
 */
export function appliesToAgent(patterns: readonly string[], agent: string | null): boolean {
  if (!isJudgeAgent(agent)) return matchesAgent(patterns, agent);
  const named = patterns.filter((pattern) => pattern !== "*");
  return named.length > 0 && matchesAgent(named, agent);
}
