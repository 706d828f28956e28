/**
 * Rows of monitors: the monitor, its flips, and its row in the work queue. One commit changes all of
 * them under the version of the team's roll-ups, so each deadline causes one change.
 *
 * @module
 */
import { missedSignals } from "../../domain/alerts/signal_sources.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { AgentActivity } from "../../domain/agents/agents.ts";
import type { Flip } from "../../domain/monitors/row.ts";
import type { Monitor, MonitorChange } from "../../domain/monitors/monitor.ts";
import { monitorRow } from "../agents/agents.ts";
import { decodeMonitor } from "../base/codec_monitors.ts";
import { keys } from "../base/keys.ts";
import { workKey, workSet } from "../work/store.ts";
import { getAll, type Store } from "../store.ts";
import type { KvSet } from "../writer/group.ts";
import { type PlannedRows, type TeamSet, teamSet } from "../team/team_rows.ts";

/** Rows of changed monitors, for one commit. */
export type MonitorRows = PlannedRows & { readonly rows: readonly TeamSet[] };

/** No change of a monitor. */
export const NO_ROWS: MonitorRows = { sets: [], deletes: [], rows: [] };

/**
 * Maximum flips of one instant; of more the latest are kept. A clock that is set back gives all flips
 * the instant of the last one, until it has passed.
 */
const FLIPS_PER_ROW_MAX = 200;

/** Rows of an agent with its monitor. */
export interface StoredAgentRows {
  readonly agent: string;
  /** The monitor; null if there is none. */
  readonly monitor: Monitor | null;
  /** Number of the agent's open runs. */
  readonly running: number;
  /** False if the team has no such agent. */
  readonly isStored: boolean;
  readonly isArchived: boolean;
  /** Check that it was not archived or restored since. */
  readonly archiveCheck: Deno.AtomicCheck;
}

/** Reads agents with their monitors. */
export async function readAgents(
  store: Store,
  team: TeamId,
  agents: readonly string[],
): Promise<StoredAgentRows[]> {
  const read = [keys.monitor, keys.agentActivity, keys.agent, keys.archivedAgent];
  const entries = await getAll(
    store,
    agents.flatMap((agent) => read.map((key) => key(team, agent))),
  );
  return agents.map((agent, i) => {
    const rows = entries.slice(i * read.length, (i + 1) * read.length);
    const [monitor, activity, used, archived] = rows.map(({ value }) => value);
    return {
      agent,
      monitor: decodeMonitor(monitor),
      running: (activity as AgentActivity | null)?.running ?? 0,
      isStored: (used ?? archived ?? null) !== null,
      isArchived: (archived ?? null) !== null,
      archiveCheck: rows[3] as Deno.AtomicCheck,
    };
  });
}

/**
 * Returns the change of a monitor that one change and another one after it make.
 */
export function andThen(
  change: MonitorChange,
  next: (monitor: Monitor) => MonitorChange,
): MonitorChange {
  const { monitor, flips } = next(change.monitor);
  return { monitor, flips: [...change.flips, ...flips] };
}

/** Returns the key of a monitor's row in the work queue. */
export function dueKeyOf(team: TeamId, agent: string, at: number): Deno.KvKey {
  return workKey({ at, kind: "monitor", team, name: agent });
}

/** A change of a stored monitor; `before` is null for a new one. */
export type MonitorWrite = MonitorChange & { readonly before: Monitor | null };

/** Returns the rows of changed monitors. */
export async function rowsOfChanges(
  store: Store,
  team: TeamId,
  changes: readonly MonitorWrite[],
): Promise<MonitorRows> {
  const sets: KvSet[] = [];
  const deletes: Deno.KvKey[] = [];
  for (const { before, monitor } of changes) {
    const { agent, dueAt } = monitor;
    const old = before?.dueAt ?? null;
    if (old === dueAt) continue;
    if (old !== null) deletes.push(dueKeyOf(team, agent, old));
    if (dueAt !== null) sets.push(workSet({ at: dueAt, kind: "monitor", team, name: agent }));
  }
  sets.push(...await flipRows(store, team, changes));
  return {
    sets,
    deletes,
    rows: changes.map(({ monitor }) => teamSet(monitorRow(team, monitor.agent), monitor)),
    alerts: {
      signals: changes.flatMap(({ monitor, flips }) => missedSignals(monitor, flips)),
    },
  };
}

/** Returns the rows of new flips. Flips of one instant share a row, in their order. */
async function flipRows(
  store: Store,
  team: TeamId,
  changes: readonly MonitorWrite[],
): Promise<KvSet[]> {
  const rows = new Map<string, FlipRow>();
  for (const { before, monitor: { agent }, flips } of changes) {
    // Later than all known instants, so no row is stored there.
    const newFromMs = Math.max(before?.since ?? 0, before?.absentUntil ?? 0);
    for (const flip of flips) {
      const name = `${agent} ${flip.at}`;
      const key = keys.flip(team, agent, flip.at);
      const row = rows.get(name) ?? { key, flips: [], isNew: flip.at > newFromMs };
      row.flips.push(flip);
      rows.set(name, row);
    }
  }
  const shared = Array.from(rows.values()).filter(({ isNew }) => !isNew);
  const stored = await getAll(store, shared.map(({ key }) => key));
  for (const [i, { flips }] of shared.entries()) {
    flips.unshift(...(stored[i]?.value ?? []) as readonly Flip[]);
  }
  return Array.from(rows.values(), ({ key, flips }) => ({
    key,
    value: flips.slice(-FLIPS_PER_ROW_MAX),
  }));
}

/** Flips of a monitor at one instant. */
interface FlipRow {
  readonly key: Deno.KvKey;
  readonly flips: Flip[];
  /** True if no flip is stored at that instant. */
  readonly isNew: boolean;
}
