/**
 * Stores agents in two rows each. The row of the agent is written with its first run, and moved
 * when it is archived. The worker maintains the row with the totals of its runs.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { AgentRecord, AgentStore } from "../../domain/agents/agents.ts";
import {
  addAgentRun,
  type AgentActivity,
  type AgentRun,
  agentRunOf,
  type LastRun,
  lastRunAs,
  laterRun,
  subtractAgentRun,
} from "../../domain/agents/activity.ts";
import type { Monitor } from "../../domain/monitors/monitor.ts";
import {
  type ByteCache,
  BYTES_PER_CHAR,
  createByteCache,
  SizedMap,
} from "../../runtime/byte_cache.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { decodeSums } from "../base/codec_sums.ts";
import { inTime } from "../base/deadline.ts";
import { agentPart } from "../base/index_parts.ts";
import { keys } from "../base/keys.ts";
import { ALL_ENTRIES, listEntries } from "../entries.ts";
import { listAgents } from "./list.ts";
import { changeAgent, type CommitArchive, recordOf, type StoredAgent } from "./rows.ts";
import type { KnownAgents } from "./known_agents.ts";
import { getAll, getMany, getValue, type Store } from "../store.ts";
import type { Write } from "../writer/write.ts";

/** Fraction of the memory share of agents; the rest is for known agents. */
const ACTIVITIES_PART = 0.5;

/** Bytes of a team without its rows, and of the parts of a row without its slug. */
const TEAM_BYTES = 200, ACTIVITY_BYTES = 300, MONITOR_BYTES = 1_000, SIGNAL_BYTES = 160;

/**
 * Creates the store of agents. No run is read.
 *
 * @param known cache of active agents, invalidated when an agent is archived
 */
export function createAgentStore(
  store: Store,
  known: KnownAgents,
  commitArchive: CommitArchive,
): AgentStore {
  return {
    change: (...args) => inTime(changeAgent(store, known, commitArchive, ...args), store.deadlines),
    read: (team, slug) => store.reads.run(team.id, () => readAgent(store, team, slug)),
    list: (team, query) => listAgents(store, team, query),
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
  readonly activity: AgentActivity | null;
  readonly monitor: Monitor | null;
}

/** Monitors by agent; null for a deleted one. */
export type Monitors = ReadonlyMap<string, Monitor | null>;

const NO_MONITORS: Monitors = new Map();

/** A change of agents' activity, ready to commit. */
export interface ActivityChange {
  /** Rows of the changed agents, with the activity after the change. */
  readonly agents: ReadonlyMap<string, AgentRow>;
  /** Returns the latest arrival of an agent's calls before the change, unix milliseconds. */
  readonly seenBefore: (slug: string) => number;
  /** Sets of the commit, which also checks the version of the team's roll-ups. */
  readonly sets: NonNullable<Write["sets"]>;
  /** Updates the cache after the commit, with its version and the monitors that it changed. */
  readonly remember: (version: string, monitors?: Monitors) => void;
}

/** Cached agents of a team. */
interface TeamAgents {
  /** Version of the team's roll-ups at which the rows are current. */
  readonly version: string | null;
  /** Rows by slug. */
  readonly rows: SizedMap<AgentRow>;
}

/**
 * Caches agents' activity and monitors, so that a change of runs needs no read of them.
 *
 * The version of a team's roll-ups covers these rows too: every commit that changes one changes it.
 */
export class ActivityCache {
  readonly #store: Store;
  readonly #teams: ByteCache<TeamId, TeamAgents>;

  constructor(store: Store) {
    this.#store = store;
    this.#teams = createByteCache({
      memory: store.memory,
      share: "agents",
      part: ACTIVITIES_PART,
      bytesOf: ({ rows }, team) => TEAM_BYTES + rows.bytes + BYTES_PER_CHAR * team.length,
    });
  }

  /**
   * Applies changes of runs to their agents' activity.
   *
   * @param version version of the team's roll-ups, read before the runs
   */
  async change(
    team: TeamId,
    version: string | null,
    changes: readonly AgentChange[],
  ): Promise<ActivityChange> {
    const rows = this.#rowsUnder(team, version);
    await this.#load(team, rows, new Set(changes.map(agentOf)));
    const changed = new Map<string, AgentActivity>();
    const unsure = new Set<string>();
    for (const change of changes) {
      const slug = agentOf(change);
      const current = changed.get(slug) ?? rows.get(slug)?.activity ?? null;
      if (change.after !== null && startsEarlier(current, change.after)) unsure.add(slug);
      const activity = count(current, change);
      if (activity.lastRun === null) unsure.add(slug);
      changed.set(slug, activity);
    }
    for (const slug of unsure) await this.#findLastRun(team, slug, changed, changes);
    const sets = Array.from(changed, ([slug, value]) => ({
      key: keys.agentActivity(team, slug),
      value,
    }));
    const agents = new Map<string, AgentRow>();
    for (const [slug, activity] of changed) {
      agents.set(slug, { activity, monitor: rows.get(slug)?.monitor ?? null });
    }
    return {
      agents,
      seenBefore: (slug) => rows.get(slug)?.activity?.lastSeen ?? 0,
      sets,
      remember: (now, monitors = NO_MONITORS) =>
        this.#remember(team, now, rows, withMonitors(rows, agents, monitors)),
    };
  }

  /** Finds an agent's last run after the known one was deleted or got an earlier start. */
  async #findLastRun(
    team: TeamId,
    slug: string,
    changed: Map<string, AgentActivity>,
    changes: readonly AgentChange[],
  ): Promise<void> {
    const activity = changed.get(slug);
    if (activity === undefined) return;
    const of = changes.filter((change) => agentOf(change) === slug);
    const ids = of.flatMap(({ before, after }) => (after ?? before)?.id ?? []);
    const stored = await lastRunOf(this.#store, team, slug, new Set(ids));
    const lastRun = of.reduce(
      (last, { after }) => laterRun(last, after && lastRunAs(after)),
      stored,
    );
    changed.set(slug, { ...activity, lastRun });
  }

  #rowsUnder(team: TeamId, version: string | null): TeamAgents["rows"] {
    const known = this.#teams.get(team);
    if (known !== undefined && known.version === version) return known.rows;
    const rows = newRows();
    this.#teams.set(team, { version, rows });
    return rows;
  }

  async #load(
    team: TeamId,
    rows: TeamAgents["rows"],
    wanted: ReadonlySet<string>,
  ): Promise<void> {
    const missing = [...wanted].filter((slug) => !rows.has(slug));
    const found = await getAll(this.#store, [
      ...missing.map((slug) => keys.agentActivity(team, slug)),
      ...missing.map((slug) => keys.monitor(team, slug)),
    ]);
    for (const [i, slug] of missing.entries()) {
      const activity = (found[i]?.value ?? null) as AgentActivity | null;
      const monitor = (found[missing.length + i]?.value ?? null) as Monitor | null;
      rows.set(slug, { activity, monitor });
    }
  }

  #remember(
    team: TeamId,
    version: string,
    known: TeamAgents["rows"],
    changed: ReadonlyMap<string, AgentRow>,
  ): void {
    // A team that exceeds its share loses all its cached rows.
    const rows = known.bytes > this.#teams.maxEntrySize / 2 ? newRows() : known;
    for (const [slug, row] of changed) rows.set(slug, row);
    this.#teams.set(team, { version, rows });
  }
}

function newRows(): TeamAgents["rows"] {
  return new SizedMap(({ activity, monitor }) =>
    (activity === null ? 0 : ACTIVITY_BYTES) +
    (monitor === null ? 0 : MONITOR_BYTES + monitor.signals.length * SIGNAL_BYTES)
  );
}

/** Returns changed rows with their changed monitors, and the cached rows of other monitors. */
function withMonitors(
  cached: TeamAgents["rows"],
  agents: ReadonlyMap<string, AgentRow>,
  monitors: Monitors,
): ReadonlyMap<string, AgentRow> {
  if (monitors.size === 0) return agents;
  const changed = new Map(agents);
  for (const [slug, monitor] of monitors) {
    const row = agents.get(slug) ?? cached.get(slug);
    if (row !== undefined) changed.set(slug, { ...row, monitor });
  }
  return changed;
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
  const { entries } = await listEntries(store, order, ALL_ENTRIES, options);
  const last = entries.find(({ run }) => !excluded.has(run));
  return laterRun(swept, last === undefined ? null : await startOf(store, team, last.run));
}

async function startOf(store: Store, team: TeamId, id: RunId): Promise<LastRun | null> {
  const stored = await getValue<Uint8Array>(store, keys.summary(team, id));
  const run = agentRunOf(id, stored && decodeSums<RunSummary>(stored));
  return run && lastRunAs(run);
}
