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
import { agentCapRefusal } from "../../domain/agents/agents.ts";
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
  /** Entries that were read, for the checks of a change. */
  readonly entries: readonly Deno.KvEntryMaybe<unknown>[];
}

/** Returns the keys that {@link agentRows} reads. */
export function keysOfAgent(team: TeamId, slug: string): Deno.KvKey[] {
  return [
    keys.agent(team, slug),
    keys.archivedAgent(team, slug),
    keys.agentCount(team),
    keys.archivedAgents(team),
  ];
}

/** Decodes the entries at {@link keysOfAgent}. */
export function agentRows(entries: readonly Deno.KvEntryMaybe<unknown>[]): AgentRows {
  const [used, archived, count, archive] = entries;
  return {
    used: (used?.value ?? null) as StoredAgent | null,
    archived: (archived?.value ?? null) as StoredAgent | null,
    counts: { used: Number(count?.value ?? 0), archived: Number(archive?.value ?? 0) },
    archiveVersion: archive?.versionstamp ?? null,
    entries,
  };
}

/** Activates a new or archived agent, or returns why the limit refuses it. */
export function useAgent(
  team: Team,
  slug: string,
  rows: AgentRows,
  agent: StoredAgent,
): Write | Problem {
  const isArchived = rows.archived !== null;
  const { used, archived } = rows.counts;
  const refusal = agentCapRefusal(team, used, isArchived);
  if (refusal !== null) return refusal;
  const [key, archivedKey, count, archive] = keysOfAgent(team.id, slug) as [Key, Key, Key, Key];
  return {
    checks: versionsOf(rows, isArchived ? [0, 1, 2, 3] : [0, 2]),
    sets: [
      { key, value: agent },
      { key: count, value: used + 1 },
      ...isArchived ? [{ key: archive, value: archived - 1 }] : [],
    ],
    deletes: isArchived ? [archivedKey] : [],
  };
}

/** Archives an active agent, or returns why it is refused. */
export function archiveAgent(
  team: Team,
  slug: string,
  rows: AgentRows,
  agent: StoredAgent,
): Write | Problem {
  const { used, archived } = rows.counts;
  const refusal = archiveRefusal(archived);
  if (refusal !== null) return refusal;
  const [key, archivedKey, count, archive] = keysOfAgent(team.id, slug) as [Key, Key, Key, Key];
  return {
    checks: versionsOf(rows, [0, 2, 3]),
    sets: [
      { key: archivedKey, value: agent },
      { key: count, value: used - 1 },
      { key: archive, value: archived + 1 },
    ],
    deletes: [key],
  };
}

type Key = Deno.KvKey;

/** Returns the checks of the entries at `indexes`. */
export function versionsOf(
  { entries }: AgentRows,
  indexes: readonly number[],
): Deno.AtomicCheck[] {
  return indexes.flatMap((at) => {
    const entry = entries[at];
    return entry === undefined ? [] : [{ key: entry.key, versionstamp: entry.versionstamp }];
  });
}
