/**
 * Pauses the monitor of an agent when the agent is archived, and resumes it when it is restored.
 *
 * @module
 */
import {
  type Monitor,
  type MonitorChange,
  nextDueAt,
  pauseMonitor,
  resumeMonitor,
} from "../../domain/monitors/monitor.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { AgentPlan, CommitArchive } from "../agents/rows.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommittedInTime } from "../base/retry.ts";
import { getEntry, type Store } from "../store.ts";
import { NO_ROWS, readAgents, rowsOfChanges } from "./rows.ts";
import type { TeamChanges } from "../team/rows.ts";

/** The pause of an archived agent. */
export const ARCHIVED_PAUSE = { untilMs: null, isSticky: false } as const;

/** Creates the commit of changes that may archive or restore an agent. */
export function createArchiveCommit(store: Store, changes: TeamChanges): CommitArchive {
  return (team, slug, atMs, plan) => {
    const at = { store, changes, team, slug, atMs };
    return untilCommittedInTime("change an agent", store.deadlines, async () => {
      const key = keys.monitor(team, slug);
      const { versionstamp } = await getEntry(store, key);
      if (versionstamp !== null) return await commitWithMonitor(at, plan);
      const { result, write, onCommitted } = await plan();
      if (write === null) return result;
      const checks = [...write.checks ?? [], { key, versionstamp }];
      const version = await store.writer.commit({ ...write, team, checks });
      if (version === null) return LOST;
      onCommitted(version);
      return result;
    });
  };
}

/** An agent that is archived or restored. */
interface Archived {
  readonly store: Store;
  readonly changes: TeamChanges;
  readonly team: TeamId;
  readonly slug: string;
  readonly atMs: number;
}

/** Commits the change of an agent and of its monitor. */
function commitWithMonitor(
  { store, changes, team, slug, atMs }: Archived,
  plan: () => Promise<AgentPlan>,
): Promise<AgentPlan["result"]> {
  return changes.changeInTurn(team, "call", async () => {
    const { result, write, archived, onCommitted } = await plan();
    if (write === null) return { result, rows: null };
    const [agent] = await readAgents(store, team, [slug]);
    const before = agent?.monitor ?? null;
    const change = before && changeOf(before, archived, atMs);
    const dueAt = change && nextDueAt(change.monitor, atMs, agent?.running ?? 0);
    const rows = change === null ? NO_ROWS : await rowsOfChanges(store, team, [
      { before, flips: change.flips, monitor: { ...change.monitor, dueAt } },
    ]);
    return {
      result,
      rows: {
        ...rows,
        checks: write.checks ?? [],
        sets: [...rows.sets, ...write.sets ?? []],
        deletes: [...rows.deletes, ...write.deletes ?? []],
      },
      onCommitted,
    };
  });
}

/**
 * Returns the change of a monitor; null for none. A pause that a user made stays, unless it has an
 * end: then the monitor of an archived agent would resume.
 */
function changeOf(monitor: Monitor, archived: boolean, atMs: number): MonitorChange | null {
  const { pause } = monitor;
  const isEndless = pause !== null && pause.untilMs === null;
  if (archived) return isEndless ? null : pauseMonitor(monitor, ARCHIVED_PAUSE, atMs);
  return isEndless && !pause.isSticky ? resumeMonitor(monitor, atMs) : null;
}
