/**
 * Keys of agents; part of `keys` in `keys.ts`.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";

/** Builders of these keys; each reads like a path. */
export const agentKeys = {
  teamAgents: (team: TeamId): Deno.KvKey => ["agent", team],
  /** An active agent. */
  agent: (team: TeamId, slug: string): Deno.KvKey => ["agent", team, slug],
  /** Agents under the prefix `below`, after a slug; from the first one if it is null. */
  agentsAfter: (below: Deno.KvKey, slug: string | null): Deno.KvListSelector => ({
    start: slug === null ? [...below, ""] : [...below, slug, true],
    end: [...below, true],
  }),
  /** Number of archived agents of a team; also the prefix of all of them. */
  archivedAgents: (team: TeamId): Deno.KvKey => ["archived_agent", team],
  /** An archived agent; it no longer counts against the limit of agents. */
  archivedAgent: (team: TeamId, slug: string): Deno.KvKey => ["archived_agent", team, slug],
  /** Activity totals of all agents of a team. */
  agentActivities: (team: TeamId): Deno.KvKey => ["agent_activity", team],
  /** Activity totals of agents between two slugs, inclusive. */
  agentActivityRange: (team: TeamId, first: string, last: string): Deno.KvListSelector => ({
    start: ["agent_activity", team, first],
    end: ["agent_activity", team, last, true],
  }),
  /** Activity totals of one agent's runs. */
  agentActivity: (team: TeamId, slug: string): Deno.KvKey => ["agent_activity", team, slug],
  /** Number of active agents of a team; every write that adds one checks it. */
  agentCount: (team: TeamId): Deno.KvKey => ["agent_count", team],
} as const;
