/**
 * The keys of agents; they are part of `keys` in `keys.ts`.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";

/** Builders of these keys; each reads like a path. */
export const agentKeys = {
  /** All agents of a team. */
  teamAgents: (team: TeamId): Deno.KvKey => ["agent", team],
  /** An agent in use. */
  agent: (team: TeamId, slug: string): Deno.KvKey => ["agent", team, slug],
  /** Agents below a key, behind a slug, by slug; from the first when there is none. */
  agentsAfter: (below: Deno.KvKey, slug: string | null): Deno.KvListSelector => ({
    start: slug === null ? [...below, ""] : [...below, slug, true],
    end: [...below, true],
  }),
  /** How many agents of a team are archived, changed by each; all of them are below it. */
  archivedAgents: (team: TeamId): Deno.KvKey => ["archived_agent", team],
  /** An agent that left its place to others. */
  archivedAgent: (team: TeamId, slug: string): Deno.KvKey => ["archived_agent", team, slug],
  /** What the runs of all agents of a team come to. */
  agentActivities: (team: TeamId): Deno.KvKey => ["agent_activity", team],
  /** The same of agents from one slug to another inclusive. */
  agentActivityRange: (team: TeamId, first: string, last: string): Deno.KvListSelector => ({
    start: ["agent_activity", team, first],
    end: ["agent_activity", team, last, true],
  }),
  /** What the runs of an agent come to. */
  agentActivity: (team: TeamId, slug: string): Deno.KvKey => ["agent_activity", team, slug],
  /** How many agents a team has; checked by every write that adds one. */
  agentCount: (team: TeamId): Deno.KvKey => ["agent_count", team],
} as const;
