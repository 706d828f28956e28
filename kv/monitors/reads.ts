/**
 * Reads monitors with the activity of their agents, and flips; removes old flips.
 *
 * @module
 */
import type { AgentActivity } from "../../domain/agents/agents.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { Flip, Monitor } from "../../domain/monitors/monitor.ts";
import {
  FLIP_DAYS,
  type FlipsQuery,
  type MonitorRecord,
  type MonitorsQuery,
} from "../../domain/monitors/row.ts";
import { decodeMonitor } from "../base/codec_monitors.ts";
import { keyParts, keys } from "../base/keys.ts";
import { getAll, getMany, listRows, type Store } from "../store.ts";
import { groupsOf } from "../base/reads.ts";

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
  const stored = decodeMonitor(monitor?.value);
  return stored && { monitor: stored, running: runningOf(activity?.value) };
}

/**
 * Reads a page of monitors. A page by state may have fewer than its limit, even none, before the
 * end: it reads a bounded number of monitors.
 */
export async function listMonitors(
  store: Store,
  team: TeamId,
  { state, limit, after }: MonitorsQuery,
) {
  const matching: Monitor[] = [];
  let [position, isEnd] = [after, false];
  for (let rows = 0; rows < ROWS.max && matching.length < limit && !isEnd; rows += ROWS.perRead) {
    const max = state === null ? limit - matching.length + 1 : ROWS.perRead;
    const perRead = Math.min(ROWS.perRead, max);
    const range = keys.agentsAfter(keys.monitors(team), position);
    const read = await listRows(store, range, { limit: perRead });
    isEnd = read.length < perRead;
    for (const row of read) {
      if (matching.length === limit) {
        isEnd = false;
        break;
      }
      const monitor = decodeMonitor(row.value) as Monitor;
      position = monitor.agent;
      if (state === null || monitor.state === state) matching.push(monitor);
    }
  }
  return { monitors: await withRunning(store, team, matching), next: isEnd ? null : position };
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

/** Agents whose flips are read at once. */
const AGENTS_AT_ONCE = 10;

/** Time after which flips are removed, milliseconds. */
const KEPT_MS = FLIP_DAYS * 86_400_000;

/** Monitors of one read, and rows of flips that one commit removes. */
const FORGET = { monitors: 500, rows: 500 } as const;

/** Removes the flips of a team that are older than 400 days; the sweep does so each night. */
export async function forgetFlips(store: Store, team: TeamId, nowMs: number): Promise<void> {
  let after: string | null = null;
  do {
    const range = keys.agentsAfter(keys.monitors(team), after);
    const rows: Deno.KvEntry<unknown>[] = await listRows(store, range, { limit: FORGET.monitors });
    for (const { key } of rows) await forgetFlipsOf(store, team, keyParts.name(key), nowMs);
    const last = rows.at(-1);
    after = last === undefined || rows.length < FORGET.monitors ? null : keyParts.name(last.key);
  } while (after !== null);
}

async function forgetFlipsOf(
  store: Store,
  team: TeamId,
  agent: string,
  nowMs: number,
): Promise<void> {
  const range = keys.flips(team, agent, 0, nowMs - KEPT_MS);
  for (let rows: number = FORGET.rows; rows === FORGET.rows;) {
    const old = await listRows(store, range, { limit: FORGET.rows });
    rows = old.length;
    if (rows > 0) await store.writer.commit({ team, deletes: old.map(({ key }) => key) });
  }
}

/** Reads a page of an agent's flips, latest first. Flips of one instant are on one page. */
export async function readFlips(
  store: Store,
  team: TeamId,
  agent: string,
  { fromMs, toMs, limit, after }: FlipsQuery,
) {
  const range = keys.flips(team, agent, fromMs, Math.min(toMs, after ?? Infinity));
  if (after !== null && after <= fromMs) return { flips: [], next: null };
  const options = { limit: limit + 1, reverse: true };
  const rows = await listRows<readonly Flip[]>(store, range, options);
  const flips: Flip[] = [];
  let next: number | null = null;
  for (const { key, value } of rows) {
    if (flips.length > 0 && flips.length + value.length > limit) return { flips, next };
    flips.push(...value.toReversed());
    next = keyParts.instant(key);
  }
  return { flips, next: null };
}

/** Reads the latest flips of agents since an instant, and an absence that began before it. */
export async function readFlipsOf(
  store: Store,
  team: TeamId,
  agents: readonly string[],
  fromMs: number,
  max: number,
): Promise<ReadonlyMap<string, readonly Flip[]>> {
  const all = new Map<string, readonly Flip[]>();
  for (const group of groupsOf(agents, AGENTS_AT_ONCE)) {
    await Promise.all(group.map(async (agent) => {
      const range = keys.flips(team, agent, fromMs, Infinity);
      const before = keys.flips(team, agent, 0, fromMs);
      const [rows, [last]] = await Promise.all([
        listRows<readonly Flip[]>(store, range, { limit: max, reverse: true }),
        listRows<readonly Flip[]>(store, before, { limit: 1, reverse: true }),
      ]);
      const begun = last?.value.filter(({ until = 0 }) => until > fromMs) ?? [];
      all.set(agent, [...begun, ...rows.reverse().flatMap(({ value }) => value)].slice(-max));
    }));
  }
  return all;
}
