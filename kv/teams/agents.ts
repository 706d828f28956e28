/**
 * Agents in the store: one row that says an agent exists, written with its first run, and one that
 * says what its runs come to, kept by the projector.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { Team, TeamId } from "../../domain/credentials.ts";
import type { AgentStore } from "../../domain/ports.ts";
import {
  addAgentRun,
  type AgentActivity,
  type AgentPage,
  type AgentRecord,
  type AgentRun,
  type AgentsQuery,
  pageByLastSeen,
  pageOf,
  sortRefusal,
  takeAgentRun,
} from "../../domain/run/agents.ts";
import { inTime } from "../deadline.ts";
import { keys } from "../keys.ts";
import { lastRunOf } from "./last_run.ts";
import { GET_MANY_KEYS_MAX } from "../kv_limits.ts";
import { getMany, listRows, type Store } from "../store.ts";
import type { Write } from "../writer/writer.ts";

/** Teams remembered. */
const TEAMS_MAX = 2_000;

/** Agents remembered of one team; more are forgotten all at once. About 300 bytes each. */
const TEAM_AGENTS_MAX = 10_000;

/** Where the slug stands in a key. */
const SLUG = 2;

/** That an agent exists, as stored. */
interface StoredAgent {
  /** Arrival of its first run, unix milliseconds. */
  readonly created_at: number;
}

/** Creates the store that agents are read from. No run is read. */
export function createAgentStore(store: Store): AgentStore {
  return {
    read: (team, slug) => inTime(readAgent(store, team, slug), store.deadlines),
    async list(team, query) {
      if (query.sort === "agent") {
        return { ok: true, value: await inTime(listBySlug(store, team, query), store.deadlines) };
      }
      const [count] = await inTime(
        getMany(store, [keys.agentCount(team.id)]),
        store.deadlines,
      );
      const problem = sortRefusal(Number(count?.value ?? 0));
      if (problem !== null) return { ok: false, problem };
      const all = await inTime(listAgents(store, team), store.deadlines);
      return { ok: true, value: pageByLastSeen(all, query) };
    },
  };
}

async function readAgent(store: Store, team: Team, slug: string): Promise<AgentRecord | null> {
  const wanted = [keys.agent(team.id, slug), keys.agentActivity(team.id, slug)];
  const [agent, activity] = await getMany(store, wanted);
  if (!agent || agent.versionstamp === null) return null;
  return recordOf(slug, agent.value, (activity?.value ?? null) as AgentActivity | null);
}

async function listBySlug(
  store: Store,
  team: Team,
  { after, limit }: AgentsQuery,
): Promise<AgentPage> {
  const rows = await listRows(store, keys.agentsAfter(team.id, after?.agent ?? null), {
    limit: limit + 1,
  });
  const slugs = rows.map(({ key }) => String(key[SLUG]));
  const [first, last] = [slugs[0], slugs.at(-1)];
  if (first === undefined || last === undefined) return pageOf([], limit);
  const range = keys.agentActivityRange(team.id, first, last);
  return pageOf(join(rows, await listRows(store, range)), limit);
}

async function listAgents(store: Store, team: Team): Promise<AgentRecord[]> {
  const [agents, activities] = await Promise.all([
    listRows(store, { prefix: keys.teamAgents(team.id) }),
    listRows(store, { prefix: keys.agentActivities(team.id) }),
  ]);
  return join(agents, activities);
}

type Rows = readonly Deno.KvEntry<unknown>[];

/** Joins agents with what their runs come to; the two may be of different moments. */
function join(agents: Rows, activities: Rows): AgentRecord[] {
  const bySlug = new Map(activities.map(({ key, value }) => [key[SLUG], value as AgentActivity]));
  return agents.map(({ key, value }) =>
    recordOf(String(key[SLUG]), value, bySlug.get(key[SLUG] ?? "") ?? null)
  );
}

function recordOf(agent: string, value: unknown, activity: AgentActivity | null): AgentRecord {
  return { agent, firstSeen: (value as StoredAgent).created_at, activity };
}

/** A run whose state changed, as its agent counted it before and counts it now; one of them is there. */
export interface AgentChange {
  /** Null when it was not counted. */
  readonly before: AgentRun | null;
  /** The run now; null when it is deleted. */
  readonly after: AgentRun | null;
}

/** A change of what agents' runs come to, ready to commit. */
export interface ActivityChange {
  /** What the commit sets. Its check is that of the team's roll-ups. */
  readonly sets: NonNullable<Write["sets"]>;
  /** Remembers the change once it is committed under a version. */
  readonly remember: (version: string) => void;
}

/** What is remembered of a team. */
interface TeamActivities {
  /** Version of the team's roll-ups under which the rows are as remembered. */
  readonly version: string | null;
  /** Rows by slug; null for none. */
  readonly rows: Map<string, AgentActivity | null>;
}

/**
 * What the runs of live agents come to, in memory, so that adding to it need not read it first.
 *
 * The version of a team's roll-ups stands for these rows too: every commit that changes one changes it.
 */
export class ActivityCache {
  readonly #store: Store;
  readonly #teams = new LRUCache<TeamId, TeamActivities>({ max: TEAMS_MAX });

  /** Remembers nothing yet. */
  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Counts what changed of runs.
   *
   * @param version of the team's roll-ups, taken before the runs were read
   */
  async change(
    team: TeamId,
    version: string | null,
    changes: readonly AgentChange[],
  ): Promise<ActivityChange> {
    const rows = this.#rowsUnder(team, version);
    await this.#load(team, rows, new Set(changes.map(agentOf)));
    const changed = new Map<string, AgentActivity>();
    for (const change of changes) {
      const known = changed.get(agentOf(change)) ?? rows.get(agentOf(change)) ?? null;
      changed.set(agentOf(change), count(known, change));
    }
    await this.#findLastRuns(team, changed, changes);
    const sets = Array.from(
      changed,
      ([slug, value]) => ({ key: keys.agentActivity(team, slug), value }),
    );
    return { sets, remember: (now) => this.#remember(team, now, rows, changed) };
  }

  /** Finds the last runs of agents whose own was deleted. */
  async #findLastRuns(
    team: TeamId,
    changed: Map<string, AgentActivity>,
    changes: readonly AgentChange[],
  ): Promise<void> {
    for (const [slug, activity] of changed) {
      if (activity.lastRun !== null) continue;
      const of = changes.filter((change) => agentOf(change) === slug);
      const gone = of.flatMap(({ before, after }) => after === null && before ? [before.id] : []);
      const lastRun = await lastRunOf(this.#store, team, slug, new Set(gone));
      changed.set(slug, { ...activity, lastRun });
    }
  }

  #rowsUnder(team: TeamId, version: string | null): TeamActivities["rows"] {
    const known = this.#teams.get(team);
    if (known !== undefined && known.version === version) return known.rows;
    const rows: TeamActivities["rows"] = new Map();
    this.#teams.set(team, { version, rows });
    return rows;
  }

  async #load(
    team: TeamId,
    rows: TeamActivities["rows"],
    wanted: ReadonlySet<string>,
  ): Promise<void> {
    const missing = [...wanted].filter((slug) => !rows.has(slug));
    for (let at = 0; at < missing.length; at += GET_MANY_KEYS_MAX) {
      const some = missing.slice(at, at + GET_MANY_KEYS_MAX);
      const found = await getMany(this.#store, some.map((slug) => keys.agentActivity(team, slug)));
      for (const [i, slug] of some.entries()) {
        rows.set(slug, (found[i]?.value ?? null) as AgentActivity | null);
      }
    }
  }

  #remember(
    team: TeamId,
    version: string,
    known: TeamActivities["rows"],
    changed: ReadonlyMap<string, AgentActivity>,
  ): void {
    const rows = known.size + changed.size > TEAM_AGENTS_MAX ? new Map() : known;
    for (const [slug, activity] of changed) rows.set(slug, activity);
    this.#teams.set(team, { version, rows });
  }
}

function agentOf({ before, after }: AgentChange): string {
  return (after ?? before)?.agent ?? "";
}

function count(known: AgentActivity | null, { before, after }: AgentChange): AgentActivity {
  if (after !== null) return addAgentRun(known, before, after);
  if (known === null || before === null) throw new TypeError("A run is taken that nobody counted");
  return takeAgentRun(known, before);
}
