/**
 * Changes an agent's name and notes, archives and restores it.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { Problem } from "../../domain/core/errors.ts";
import { patchedTexts } from "../../domain/agents/change.ts";
import type { AgentStore } from "../../domain/agents/agents.ts";
import { differenceOf } from "../../domain/teams/audit_log.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getMany, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";
import {
  type AgentRows,
  agentRows,
  archiveAgent,
  keysOfAgent,
  recordOf,
  type StoredAgent,
  useAgent,
} from "./rows.ts";
import { auditRows } from "../teams/audit_log.ts";
import type { KnownAgents } from "./known_agents.ts";

/** Changes an agent, with retries on a conflict; null if the team has none with that slug. */
export function changeAgent(
  store: Store,
  known: KnownAgents,
  ...[team, slug, patch, actor]: Parameters<AgentStore["change"]>
): ReturnType<AgentStore["change"]> {
  const keysToRead = [...keysOfAgent(team.id, slug), keys.agentActivity(team.id, slug)];
  return untilCommitted("change an agent", async () => {
    const entries = await getMany(store, keysToRead);
    const rows = agentRows(entries);
    const before = rows.used ?? rows.archived;
    if (before === null) return null;
    const after = { created_at: before.created_at, ...patchedTexts(before, patch) };
    const isArchived = rows.used === null;
    const archived = patch.archived ?? isArchived;
    const record = recordOf(slug, after, entries.at(-1)?.value, archived);
    const details = differenceOf(
      fieldsOf(slug, before, isArchived),
      fieldsOf(slug, after, archived),
    );
    if (details === null) return { ok: true, value: record };
    const write = writeOf(team, rows, after, archived);
    if ("code" in write) return { ok: false, problem: write };
    const logged = auditRows({
      at: actor.at,
      team: team.id,
      actor: actor.by,
      action: "agent.changed",
      target: slug,
      details,
    });
    const sets = [...write.sets ?? [], ...logged];
    const version = await store.writer.commit({ ...write, sets, team: team.id });
    if (version === null) return LOST;
    // This process must no longer treat the agent as active.
    if (archived && !isArchived) known.saw(team.id, version, known.now());
    return { ok: true, value: record };
  });
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
