/**
 * Stored state that decides about a write of a run.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { RunId } from "../../domain/core/ids.ts";
import type { RunParts } from "../../domain/runs/run.ts";
import { type AgentRows, agentRows, keysOfAgent } from "../agents/rows.ts";
import type { KnownAgents, KnownTeam } from "../agents/known_agents.ts";
import { keys } from "../base/keys.ts";
import { getMany, type Store } from "../store.ts";
import { readParts } from "./heads.ts";
import { tombstoneOf } from "./tombstone.ts";

/** Stored state of a run. */
export interface Snapshot {
  readonly parts: RunParts;
  /** Version of the row of the close; null for none. */
  readonly closingVersion: string | null;
}

/** State of an agent, and the team state it was read under. */
export interface AgentSnapshot {
  readonly rows: AgentRows;
  readonly known: KnownTeam | null;
}

/** Reads the state of a run; null if the run is deleted. */
export async function readSnapshot(store: Store, team: Team, id: RunId): Promise<Snapshot | null> {
  return await snapshotOf(store, team, id, await getMany(store, keysOfRun(team, id)));
}

/** Reads the state of a run and of its agent at one moment; null if the run is deleted. */
export async function readWithAgent(
  store: Store,
  known: KnownAgents,
  { team, id, agent }: { readonly team: Team; readonly id: RunId; readonly agent: string },
): Promise<Snapshot & { readonly agent: AgentSnapshot } | null> {
  const readAtMs = known.now();
  const keysToRead = [...keysOfRun(team, id), ...keysOfAgent(team.id, agent)];
  const entries = await getMany(store, keysToRead);
  const snapshot = await snapshotOf(store, team, id, entries);
  if (snapshot === null) return null;
  const rows = agentRows(entries.slice(2));
  const state = known.noteVersion(team.id, rows.archiveVersion, readAtMs);
  return { ...snapshot, agent: { rows, known: state } };
}

function keysOfRun(team: Team, id: RunId): Deno.KvKey[] {
  return [keys.opening(team.id, id), keys.closing(team.id, id)];
}

/** Decodes entries that begin with those at {@link keysOfRun}. */
async function snapshotOf(
  store: Store,
  team: Team,
  id: RunId,
  [opening, closing]: readonly Deno.KvEntryMaybe<unknown>[],
): Promise<Snapshot | null> {
  if (opening === undefined || closing === undefined) throw new TypeError("Rows are missing");
  if (tombstoneOf([opening.value, closing.value]) !== null) return null;
  const parts = await readParts({ store, team: team.id, id }, opening.value, closing.value);
  return { parts, closingVersion: closing.versionstamp };
}
