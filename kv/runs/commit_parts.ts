/**
 * Commits parts of runs, and reads the state that decides about them. The heads in memory learn of each
 * part. A commit that closes the run of a trace, or names its agent, also activates the agent.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import { monthOf } from "../../domain/core/time.ts";
import type { Decision } from "../../domain/runs/decide.ts";
import type { Opening, RunParts } from "../../domain/runs/run.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { KnownAgents, KnownTeam } from "../agents/known_agents.ts";
import { type AgentRows, agentRows, keysOfAgent, useAgent } from "../agents/rows.ts";
import { encodeOneCall, encodePart } from "../base/codec.ts";
import { keys } from "../base/keys.ts";
import type { NotedParts } from "../recent_heads.ts";
import { type BlobWrite, blobWrite, getMany, type Store } from "../store.ts";
import { pendingName, type Write } from "../writer/group.ts";
import { readParts, type RunRef, tombstoneOf } from "./heads.ts";
import { agentOfTrace, type StoredTrace } from "../../domain/runs/trace_facts.ts";

/**
 * Commits parts of a run and marks the run as pending.
 *
 * @param write the rows of the parts, and others that change with them
 * @returns the version; null on a conflict
 */
export function commitParts(
  { store, team, id }: RunRef,
  parts: NotedParts,
  write: Write,
): Promise<string | null> {
  const name = pendingName(team, id);
  const isOpen = parts.closing === undefined && parts.ledger?.trace?.closedAt === undefined;
  const lane = isOpen ? "open" : "closed";
  const commit = store.writer.commit({ ...write, team, pending: [{ lane, name }] });
  return store.heads.commitAndRemember(name, parts, commit);
}

/**
 * Commits changes of parts that no head in memory has: new prices, and idle closes. The worker reads
 * the runs, which the write marks as pending.
 */
export function commitUnnoted({ heads, writer }: Store, write: Write): Promise<string | null> {
  for (const { name } of write.pending ?? []) heads.forget(name);
  return writer.commit({ ...write, isBackground: true });
}

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
  run: RunRef,
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

/** A write request in progress. */
export interface Call {
  readonly team: Team;
  readonly id: RunId;
  readonly receivedAt: number;
  /** Agent in the request; null for a finish. */
  readonly agent: string | null;
  readonly decide: (parts: RunParts) => Decision;
  /** Rows that change in the same commit. */
  readonly others?: Write;
}

/**
 * Returns the write that inserts the decided parts and counts the request.
 *
 * An opening and a close of one call share the row of the close. So a call that opens a run checks
 * both rows, whichever it writes.
 *
 * @param closingVersion version of the close that the decision was made from; null for none
 * @param used rows of the agent that the call activates
 */
export function partsWrite(
  { team: { id: team }, id, receivedAt, others }: Call,
  { opening, closing }: Decision,
  closingVersion: string | null,
  used?: Write,
): { readonly write: Write; readonly staged: BlobWrite["staged"] } {
  const openingKey = keys.opening(team, id);
  const closingKey = keys.closing(team, id);
  const closed = { key: closingKey, versionstamp: closingVersion };
  // The opening that is stored first counts (R34).
  const checks = opening === undefined
    ? [closed]
    : [{ key: openingKey, versionstamp: null }, closed];
  const { sets, staged } = closing === undefined
    ? blobWrite(team, id, openingKey, encodePart(opening as Opening))
    : blobWrite(
      team,
      id,
      closingKey,
      opening === undefined ? encodePart(closing) : encodeOneCall(closing, opening),
    );
  const sums = [{ key: keys.usage(team, monthOf(receivedAt)), by: 1n }];
  if (used === undefined && others === undefined) return { write: { checks, sums, sets }, staged };
  const writes: readonly Write[] = [{ checks, sums, sets }, used ?? {}, others ?? {}];
  const write = {
    checks: writes.flatMap(({ checks = [] }) => checks),
    sums: writes.flatMap(({ sums = [] }) => sums),
    sets: writes.flatMap(({ sets = [] }) => sets),
    deletes: writes.flatMap(({ deletes = [] }) => deletes),
  };
  return { write, staged };
}

/** A trace with the agent of its run. */
export interface TraceWithAgent {
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
  { store }: RunRef,
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
