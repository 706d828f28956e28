/**
 * Rows of a team's agents: active ones, which its plan limits, and archived ones.
 *
 * Every write that moves one checks both counts, so that concurrent writes never exceed a limit.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { Problem } from "../../domain/core/errors.ts";
import { type AgentTexts, archiveRefusal } from "../../domain/agents/change.ts";
import type { AgentActivity } from "../../domain/agents/activity.ts";
import { agentCapRefusal, type AgentRecord } from "../../domain/agents/agents.ts";
import { keys } from "../base/keys.ts";
import type { Write } from "../writer/write.ts";

/** An agent as stored. */
export interface StoredAgent extends AgentTexts {
  /** Arrival of its first run, unix milliseconds. */
  readonly created_at: number;
}

/** State of an agent. */
export interface AgentRows {
  /** The agent; null if it is not active. */
  readonly used: StoredAgent | null;
  /** The archived agent; null if it is not archived. */
  readonly archived: StoredAgent | null;
  /** Numbers of the team's active and archived agents. */
  readonly counts: { readonly used: number; readonly archived: number };
  /** Version of the row that every archive changes. */
  readonly archiveVersion: string | null;
  /** Entries that were read, in the order of {@link keysOfAgent}. */
  readonly entries: readonly [used: Entry, archived: Entry, count: Entry, archive: Entry];
}

type Entry = Deno.KvEntryMaybe<unknown>;

/** Returns the keys that {@link agentRows} reads. */
export function keysOfAgent(team: TeamId, slug: string): Deno.KvKey[] {
  return [
    keys.agent(team, slug),
    keys.archivedAgent(team, slug),
    keys.agentCount(team),
    keys.archivedAgents(team),
  ];
}

/** Decodes entries that begin with those at {@link keysOfAgent}. */
export function agentRows(entries: readonly Entry[]): AgentRows {
  const [used, archived, count, archive] = entries as unknown as AgentRows["entries"];
  return {
    used: used.value as StoredAgent | null,
    archived: archived.value as StoredAgent | null,
    counts: { used: Number(count.value ?? 0), archived: Number(archive.value ?? 0) },
    archiveVersion: archive.versionstamp,
    entries: [used, archived, count, archive],
  };
}

/** Joins an agent's stored rows. */
export function recordOf(
  agent: string,
  { created_at, name, notes }: StoredAgent,
  activity: unknown,
  archived: boolean,
): AgentRecord {
  return {
    agent,
    firstSeen: created_at,
    activity: (activity ?? null) as AgentActivity | null,
    name: name ?? null,
    notes: notes ?? null,
    archived,
  };
}

/** Activates a new or archived agent, or returns why the limit refuses it. */
export function useAgent(team: Team, rows: AgentRows, agent: StoredAgent): Write | Problem {
  const { archived, counts, entries } = rows;
  const refusal = agentCapRefusal(team, counts.used, archived !== null);
  if (refusal !== null) return refusal;
  const [used, archivedAgent, count, archive] = entries;
  const sets = [{ key: used.key, value: agent }, { key: count.key, value: counts.used + 1 }];
  if (archived === null) return { checks: [used, count], sets };
  return {
    checks: entries,
    sets: [...sets, { key: archive.key, value: counts.archived - 1 }],
    deletes: [archivedAgent.key],
  };
}

/** Archives an active agent, or returns why it is refused. */
export function archiveAgent({ counts, entries }: AgentRows, agent: StoredAgent): Write | Problem {
  const refusal = archiveRefusal(counts.archived);
  if (refusal !== null) return refusal;
  const [used, archived, count, archive] = entries;
  return {
    checks: [used, count, archive],
    sets: [
      { key: archived.key, value: agent },
      { key: count.key, value: counts.used - 1 },
      { key: archive.key, value: counts.archived + 1 },
    ],
    deletes: [used.key],
  };
}
