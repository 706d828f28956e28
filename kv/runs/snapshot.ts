/**
 * Stored state that decides about a write of a run.
 *
 * @module
 */
import type { RunParts } from "../../domain/runs/run.ts";
import { type AgentRows, agentRows, keysOfAgent } from "../agents/rows.ts";
import type { KnownAgents, KnownTeam } from "../agents/known_agents.ts";
import { keys } from "../base/keys.ts";
import { getMany } from "../store.ts";
import { readParts, type RunAt } from "./heads.ts";
import { tombstoneOf } from "./tombstone.ts";

/** Stored state of a run. */
export interface Snapshot {
  readonly parts: RunParts;
  /** Version of the row of the close; null for none. */
  readonly closingVersion: string | null;
  /** Rows of the agent, and the team state they were read under; null if they were not read. */
  readonly agent: { readonly rows: AgentRows; readonly known: KnownTeam | null } | null;
}

/**
 * Reads the state of a run, and of an agent at the same moment; null if the run is deleted.
 *
 * @param agent null to read no agent
 */
export async function readSnapshot(
  run: RunAt,
  known: KnownAgents,
  agent: string | null,
): Promise<Snapshot | null> {
  const { store, team, id } = run;
  const readAtMs = known.now();
  const keysToRead: Deno.KvKey[] = [keys.opening(team, id), keys.closing(team, id)];
  if (agent !== null) keysToRead.push(...keysOfAgent(team, agent));
  const [opening, closing, ...ofAgent] = await getMany(store, keysToRead);
  if (opening === undefined || closing === undefined) throw new TypeError("Rows are missing");
  if (tombstoneOf([opening.value, closing.value]) !== null) return null;
  const parts = await readParts(run, opening.value, closing.value);
  const snapshot = { parts, closingVersion: closing.versionstamp };
  if (agent === null) return { ...snapshot, agent: null };
  const rows = agentRows(ofAgent);
  const state = known.noteVersion(team, rows.archiveVersion, readAtMs);
  return { ...snapshot, agent: { rows, known: state } };
}
