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
import type { CommitArchive } from "../agents/rows.ts";
import type { Store } from "../store.ts";
import { type MonitorChanges, NO_ROWS, readAgents, rowsOfChanges } from "./rows.ts";

/** The pause of an archived agent. */
export const ARCHIVED_PAUSE = { untilMs: null, isSticky: false } as const;

/** Creates the commit of changes that may archive or restore an agent. */
export function createArchiveCommit(store: Store, changes: MonitorChanges): CommitArchive {
  return (team, slug, atMs, plan) =>
    changes.changeMonitors(team, "call", async () => {
      const { result, write, archived, onCommitted } = await plan();
      if (write === null) return { result, rows: null };
      const [agent] = await readAgents(store, team, [slug]);
      const before = agent?.monitor ?? null;
      const change = before && changeOf(before, archived, atMs);
      const rows = change === null ? NO_ROWS : await rowsOfChanges(store, team, [{
        before,
        ...change,
        monitor: {
          ...change.monitor,
          dueAt: nextDueAt(change.monitor, atMs, agent?.running ?? 0),
        },
      }]);
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
