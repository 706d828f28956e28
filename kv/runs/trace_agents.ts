/**
 * Activates the agents of runs that traces made, in the commit that closes the run or names its agent.
 *
 * @module
 */
import { agentOfTrace, type StoredTrace } from "../../domain/runs/trace_facts.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { KnownAgents } from "../agents/known_agents.ts";
import { agentRows, keysOfAgent, useAgent } from "../agents/rows.ts";
import { getMany } from "../store.ts";
import type { Write } from "../writer/group.ts";
import type { RunAt } from "./heads.ts";

/** A trace with the agent of its run. */
export interface TraceWithAgent {
  /** The trace. */
  readonly trace: StoredTrace;
  /** Rows of an agent that is new or archived; empty for none. */
  readonly used: Write;
  /** Called once the rows are stored. */
  readonly onUsed: () => void;
}

/**
 * Gives a run the agent that its trace names, and activates the agent if it is new. Beyond the limit of
 * agents the run is stored without one, and shows that: spans are never refused for it.
 */
export async function useTraceAgent(
  { store }: RunAt,
  team: Team,
  known: KnownAgents,
  trace: StoredTrace,
  atMs: number,
): Promise<TraceWithAgent> {
  const slug = agentOfTrace(trace);
  const none = { used: {}, onUsed: () => {} };
  if (slug === undefined || trace.slug === slug) return { trace, ...none };
  const named: StoredTrace = { ...trace, slug };
  if (known.has(team.id, slug)) return { trace: named, ...none };
  const readAtMs = known.now();
  const rows = agentRows(await getMany(store, keysOfAgent(team.id, slug)));
  const state = known.noteVersion(team.id, rows.archiveVersion, readAtMs);
  const onUsed = () => known.add(team.id, slug, state);
  if (rows.used !== null) return { trace: named, used: {}, onUsed };
  const used = useAgent(team, rows, rows.archived ?? { created_at: atMs });
  if ("code" in used) return { trace: { ...trace, isAgentRefused: true }, ...none };
  return { trace: named, used, onUsed };
}
