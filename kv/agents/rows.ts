/**
 * Rows of a team's agents: active ones, which its plan limits, and archived ones.
 *
 * An agent is created, changed, archived and restored here. A write that a limit could refuse checks
 * the count that it was decided by, so that concurrent writes never exceed a limit. Each count of
 * active agents is a sum: where no limit exists, first calls of many agents share commits.
 *
 * @module
 */
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { type Problem, Refused } from "../../domain/core/errors.ts";
import {
  type AgentActivity,
  agentCapRefusal,
  type AgentPatch,
  type AgentRecord,
  type AgentTexts,
  archiveRefusal,
  hasAgentCap,
  patchedTexts,
} from "../../domain/agents/agents.ts";
import { differenceOf } from "../../domain/teams/audit_log.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommittedInTime } from "../base/retry.ts";
import { countOf, getMany, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import type { Write } from "../writer/group.ts";
import type { KnownAgents } from "./known_agents.ts";

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
    counts: { used: countOf(count), archived: Number(archive.value ?? 0) },
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
  const sets = [{ key: used.key, value: agent }];
  const sums = [{ key: count.key, by: 1n }];
  if (archived === null) {
    // Every write that adds or removes an agent changes the count: its check covers both rows.
    return { checks: hasAgentCap(team) ? [count] : [used, archivedAgent], sums, sets };
  }
  return {
    checks: entries,
    sums,
    sets: [...sets, { key: archive.key, value: counts.archived - 1 }],
    deletes: [archivedAgent.key],
  };
}

/** Archives an active agent, or returns why it is refused. */
function archiveAgent({ counts, entries }: AgentRows, agent: StoredAgent): Write | Problem {
  const refusal = archiveRefusal(counts.archived);
  if (refusal !== null) return refusal;
  const [used, archived, count, archive] = entries;
  return {
    checks: [used, archive],
    sums: [{ key: count.key, by: -1n }],
    sets: [{ key: archived.key, value: agent }, { key: archive.key, value: counts.archived + 1 }],
    deletes: [used.key],
  };
}

/** Planned change of an agent. */
export interface AgentPlan {
  readonly result: AgentRecord | null;
  /** Rows to commit; null if nothing changes. */
  readonly write: Write | null;
  /** True if the agent is archived after the change, false if not. */
  readonly archived: boolean;
  /** Receives the version of the commit. */
  readonly onCommitted: (version: string) => void;
}

/**
 * Commits a change that may archive or restore an agent, together with what depends on that.
 *
 * @param plan called again after a conflict
 */
export type CommitArchive = (
  team: TeamId,
  slug: string,
  atMs: number,
  plan: () => Promise<AgentPlan>,
) => Promise<AgentPlan["result"]>;

/** Changes an agent, with retries on a conflict; null if the team has none with that slug. */
export function changeAgent(
  store: Store,
  known: KnownAgents,
  commitArchive: CommitArchive,
  team: Team,
  slug: string,
  patch: AgentPatch,
  actor: MadeBy,
): Promise<AgentPlan["result"]> {
  const plan = () => planChange(store, known, team, slug, patch, actor);
  if (patch.archived !== undefined) return commitArchive(team.id, slug, actor.at, plan);
  return untilCommittedInTime("change an agent", store.deadlines, async () => {
    const { result, write } = await plan();
    if (write === null) return result;
    return await store.writer.commit({ ...write, team: team.id }) === null ? LOST : result;
  });
}

async function planChange(
  store: Store,
  known: KnownAgents,
  team: Team,
  slug: string,
  patch: AgentPatch,
  actor: MadeBy,
): Promise<AgentPlan> {
  const keysToRead = [...keysOfAgent(team.id, slug), keys.agentActivity(team.id, slug)];
  const entries = await getMany(store, keysToRead);
  const rows = agentRows(entries);
  const before = rows.used ?? rows.archived;
  const isArchived = rows.used === null;
  const archived = patch.archived ?? isArchived;
  const unchanged = { write: null, archived, onCommitted: () => {} };
  if (before === null) return { ...unchanged, result: null };
  const after = { created_at: before.created_at, ...patchedTexts(before, patch) };
  const record = recordOf(slug, after, entries.at(-1)?.value, archived);
  const details = differenceOf(fieldsOf(slug, before, isArchived), fieldsOf(slug, after, archived));
  if (details === null) return { ...unchanged, result: record };
  const write = writeOf(team, rows, after, archived);
  if ("code" in write) throw new Refused(write);
  const logged = auditRows({
    at: actor.at,
    team: team.id,
    actor: actor.by,
    action: "agent.changed",
    target: slug,
    details,
  });
  return {
    result: record,
    write: { ...write, sets: [...write.sets ?? [], ...logged] },
    archived,
    onCommitted(version) {
      // This process must no longer treat the agent as active.
      if (archived && !isArchived) known.noteVersion(team.id, version, known.now());
    },
  };
}

/** Returns an agent's changeable fields, as responses show them. */
function fieldsOf(slug: string, { name, notes }: StoredAgent, archived: boolean) {
  return { name: name ?? slug, notes: notes ?? null, archived };
}

function writeOf(
  team: Team,
  rows: AgentRows,
  after: StoredAgent,
  archived: boolean,
): Write | Problem {
  const isArchived = rows.used === null;
  if (archived && !isArchived) return archiveAgent(rows, after);
  if (!archived && isArchived) return useAgent(team, rows, after);
  const entry = rows.entries[isArchived ? 1 : 0];
  return { checks: [entry], sets: [{ key: entry.key, value: after }] };
}
