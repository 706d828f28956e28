/**
 * Reads monitors with the activity of their agents.
 *
 * @module
 */
import type { AgentActivity } from "../../domain/agents/activity.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { Monitor } from "../../domain/monitors/monitor.ts";
import type { MonitorPage, MonitorRecord, MonitorsQuery } from "../../domain/monitors/store.ts";
import { keys } from "../base/keys.ts";
import { getAll, getMany, listRows, type Store } from "../store.ts";

/** Monitors per read, and maximum monitors that one page reads in search of a state. */
const ROWS = { perRead: 500, max: 5_000 } as const;

/** Reads the monitor of an agent; null if it has none. */
export async function readMonitor(
  store: Store,
  team: TeamId,
  agent: string,
): Promise<MonitorRecord | null> {
  const read = [keys.monitor(team, agent), keys.agentActivity(team, agent)];
  const [monitor, activity] = await getMany(store, read);
  if (!monitor?.value) return null;
  return { monitor: monitor.value as Monitor, running: runningOf(activity?.value) };
}

/**
 * Reads a page of monitors. A page by state may have fewer than its limit, even none, before the
 * end: it reads a bounded number of monitors.
 */
export async function listMonitors(
  store: Store,
  team: TeamId,
  { state, limit, after }: MonitorsQuery,
): Promise<MonitorPage> {
  const found: Monitor[] = [];
  let [position, isEnd] = [after, false];
  for (let rows = 0; rows < ROWS.max && found.length < limit && !isEnd; rows += ROWS.perRead) {
    const max = state === null ? limit - found.length + 1 : ROWS.perRead;
    const perRead = Math.min(ROWS.perRead, max);
    const range = keys.agentsAfter(keys.monitors(team), position);
    const read = await listRows<Monitor>(store, range, { limit: perRead });
    isEnd = read.length < perRead;
    for (const { value } of read) {
      if (found.length === limit) {
        isEnd = false;
        break;
      }
      position = value.agent;
      if (state === null || value.state === state) found.push(value);
    }
  }
  return { monitors: await withRunning(store, team, found), next: isEnd ? null : position };
}

/** Adds the numbers of open runs. */
async function withRunning(
  store: Store,
  team: TeamId,
  monitors: readonly Monitor[],
): Promise<MonitorRecord[]> {
  const read = monitors.map(({ agent }) => keys.agentActivity(team, agent));
  const activities = await getAll(store, read);
  return monitors.map((monitor, i) => ({ monitor, running: runningOf(activities[i]?.value) }));
}

function runningOf(activity: unknown): number {
  return (activity as AgentActivity | null | undefined)?.running ?? 0;
}
