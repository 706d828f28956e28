/**
 * Stores agents in two rows each. The row of the agent is written with its first run, and moved
 * when it is archived. The worker maintains the row with the totals of its runs.
 *
 * @module
 */
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import {
  addAgentRun,
  type AgentActivity,
  type AgentPatch,
  type AgentRecord,
  type AgentRun,
  agentRunOf,
  type AgentsQuery,
  type LastRun,
  lastRunAs,
  laterRun,
  subtractAgentRun,
} from "../../domain/agents/agents.ts";
import type { Monitor } from "../../domain/monitors/monitor.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { decodeMonitor, encodeMonitor } from "../base/codec_monitors.ts";
import { decodeSums } from "../base/codec_sums.ts";
import { inTime } from "../base/retry.ts";
import { agentPart, ALL_ENTRIES, readEntries } from "../index/entries.ts";
import { keys } from "../base/keys.ts";
import { listAgents } from "./list.ts";
import { changeAgent, type CommitArchive, recordOf, type StoredAgent } from "./rows.ts";
import type { KnownAgents } from "./known_agents.ts";
import { getMany, getValue, type Store } from "../store.ts";
import {
  type RowFamily,
  type TeamKey,
  teamKey,
  type TeamRows,
  type TeamSet,
  teamSet,
} from "../team/team_rows.ts";

/** Bytes in memory of an activity, of a monitor without its outcomes, and of an outcome. */
const ACTIVITY_BYTES = 300, MONITOR_BYTES = 1_000, OUTCOME_BYTES = 280;

/** Store of agents. */
export type AgentStore = ReturnType<typeof createAgentStore>;

/**
 * Creates the store of agents. No run is read.
 *
 * @param known cache of active agents, invalidated when an agent is archived
 */
export function createAgentStore(store: Store, known: KnownAgents, commitArchive: CommitArchive) {
  return {
    /** Changes an agent, or returns the problem; null if the team has none with this slug. */
    change: (team: Team, slug: string, patch: AgentPatch, made: MadeBy) =>
      inTime(changeAgent(store, known, commitArchive, team, slug, patch, made), store.deadlines),
    read: (team: Team, slug: string) =>
      store.reads.run(team.id, () => readAgent(store, team, slug)),
    /** Returns a page of agents, or the problem if this order is not possible. */
    list: (team: Team, query: AgentsQuery) => listAgents(store, team, query),
  };
}

async function readAgent(store: Store, team: Team, slug: string): Promise<AgentRecord | null> {
  const [used, archived, activity] = await getMany(store, [
    keys.agent(team.id, slug),
    keys.archivedAgent(team.id, slug),
    keys.agentActivity(team.id, slug),
  ]);
  const agent = (used?.value ?? archived?.value ?? null) as StoredAgent | null;
  return agent && recordOf(slug, agent, activity?.value, !used?.versionstamp);
}

/** A changed run, as its agent counts it before and after; at least one is not null. */
export interface AgentChange {
  /** Null if the run was not counted. */
  readonly before: AgentRun | null;
  /** Null if the run is deleted. */
  readonly after: AgentRun | null;
}

/** Rows of an agent that change with its runs; null for one that is not stored. */
export interface AgentRow {
  readonly activity: AgentActivity;
  readonly monitor: Monitor | null;
}

const ACTIVITIES: RowFamily<AgentActivity> = {
  decode: (stored) => stored as AgentActivity,
  encode: (activity) => activity,
  bytesOf: () => ACTIVITY_BYTES,
};

const MONITORS: RowFamily<Monitor> = {
  decode: (stored) => decodeMonitor(stored) as Monitor,
  encode: encodeMonitor,
  bytesOf: ({ outcomes }) => MONITOR_BYTES + outcomes.kept.length * OUTCOME_BYTES,
};

/** Returns the key of an agent's monitor among the rows of its team. */
export function monitorRow(team: TeamId, slug: string): TeamKey<Monitor> {
  return teamKey(MONITORS, keys.monitor(team, slug));
}

/** A change of agents' activity, ready to commit. */
export interface ActivityChange {
  /** Rows of the changed agents, with the activity after the change. */
  readonly agents: ReadonlyMap<string, AgentRow>;
  /** Returns the latest arrival of an agent's calls before the change, unix milliseconds. */
  readonly seenBefore: (slug: string) => number;
  readonly rows: readonly TeamSet[];
}

/** Applies changes of runs to their agents' activity. */
export async function changeActivity(
  store: Store,
  rows: TeamRows,
  team: TeamId,
  changes: readonly AgentChange[],
): Promise<ActivityChange> {
  const slugs = [...new Set(changes.map(agentOf))];
  const activityRow = (slug: string) => teamKey(ACTIVITIES, keys.agentActivity(team, slug));
  const keyed = slugs.map(activityRow);
  const [stored, monitors] = await Promise.all([
    rows.getAll(keyed),
    rows.getAll(slugs.map((slug) => monitorRow(team, slug))),
  ]);
  const before = new Map(slugs.map((slug, i) => [slug, stored[i] ?? null]));
  const changed = new Map<string, AgentActivity>();
  const unsure = new Set<string>();
  for (const change of changes) {
    const slug = agentOf(change);
    const current = changed.get(slug) ?? before.get(slug) ?? null;
    if (change.after !== null && startsEarlier(current, change.after)) unsure.add(slug);
    const activity = count(current, change);
    if (activity.lastRun === null) unsure.add(slug);
    changed.set(slug, activity);
  }
  for (const slug of unsure) {
    const ofAgent = changes.filter((change) => agentOf(change) === slug);
    const lastRun = await findLastRun(store, team, slug, ofAgent);
    changed.set(slug, { ...changed.get(slug) as AgentActivity, lastRun });
  }
  const agents = new Map<string, AgentRow>();
  const sets = Array.from(changed, ([slug, activity], i) => {
    agents.set(slug, { activity, monitor: monitors[i] ?? null });
    return teamSet(keyed[i] as TeamKey<AgentActivity>, activity);
  });
  return { agents, seenBefore: (slug) => before.get(slug)?.lastSeen ?? 0, rows: sets };
}

/** Finds an agent's last run after the known one was deleted or got an earlier start. */
async function findLastRun(
  store: Store,
  team: TeamId,
  slug: string,
  changes: readonly AgentChange[],
): Promise<LastRun | null> {
  const ids = changes.flatMap(({ before, after }) => (after ?? before)?.id ?? []);
  const stored = await lastRunOf(store, team, slug, new Set(ids));
  return changes.reduce((last, { after }) => laterRun(last, after && lastRunAs(after)), stored);
}

/** Returns whether the last run got an earlier start, so that another run may be the last. */
function startsEarlier(known: AgentActivity | null, { id, startedAt }: AgentRun): boolean {
  return known?.lastRun?.id === id && startedAt < known.lastRun.startedAt;
}

function agentOf({ before, after }: AgentChange): string {
  return (after ?? before)?.agent ?? "";
}

function count(known: AgentActivity | null, { before, after }: AgentChange): AgentActivity {
  if (after !== null) return addAgentRun(known, before, after);
  if (known === null || before === null) throw new TypeError("An uncounted run is subtracted");
  return subtractAgentRun(known, before);
}

/**
 * Returns an agent's run with the latest start, stored or expired; null if there is none.
 *
 * @param excluded runs to skip, because they are being changed or deleted
 */
async function lastRunOf(
  store: Store,
  team: TeamId,
  slug: string,
  excluded: ReadonlySet<RunId>,
): Promise<LastRun | null> {
  const removed = await getValue<AgentActivity>(store, keys.removedAgent(team, slug));
  const swept = removed?.lastRun ?? null;
  const order = keys.runsBy(team, "agent", agentPart(slug));
  const options = { limit: excluded.size + 1, reverse: true };
  const { entries } = await readEntries(store, order, ALL_ENTRIES, options);
  const last = entries.find(({ run }) => !excluded.has(run));
  return laterRun(swept, last === undefined ? null : await startOf(store, team, last.run));
}

async function startOf(store: Store, team: TeamId, id: RunId): Promise<LastRun | null> {
  const stored = await getValue<Uint8Array>(store, keys.summary(team, id));
  const run = agentRunOf(id, stored && decodeSums<RunSummary>(stored));
  return run && lastRunAs(run);
}
