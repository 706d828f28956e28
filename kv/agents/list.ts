/**
 * Lists a team's agents by slug, or by last activity, newest first.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Team } from "../../domain/teams/team.ts";
import { Refused } from "../../domain/core/errors.ts";
import {
  afterLastSeen,
  type AgentActivity,
  type AgentPage,
  agentPageOf,
  type AgentPosition,
  type AgentRecord,
  type AgentsQuery,
  pageByLastSeen,
  sortRefusal,
} from "../../domain/agents/agents.ts";
import { keyParts, keys } from "../base/keys.ts";
import { countOf, getAll, getMany, listRows, type Store } from "../store.ts";
import { recordOf, type StoredAgent } from "./rows.ts";

/** Prefix of active agents' keys. */
const USED = "agent";

/** Lists a page of a team's agents, or refuses the order. */
export async function listAgents(store: Store, team: Team, query: AgentsQuery): Promise<AgentPage> {
  const read = <T>(work: () => Promise<T>) => store.reads.run(team.id, work);
  if (query.sort === "agent") {
    return await read(() => listBySlug(store, team, query));
  }
  const countKeys = [keys.agentCount(team.id), keys.archivedAgents(team.id)];
  const counts = await read(() => getMany(store, countKeys));
  const used = counts[0] === undefined ? 0 : countOf(counts[0]);
  const archived = Number(counts[1]?.value ?? 0);
  const problem = sortRefusal(used + (query.archived ? archived : 0));
  if (problem !== null) throw new Refused(problem);
  const shortPage = isShort(query, used, archived)
    ? await read(() => listLatest(store, team, query))
    : null;
  if (shortPage !== null) return shortPage;
  return pageByLastSeen(await read(() => readAgents(store, team, query)), query);
}

async function listBySlug(
  store: Store,
  team: Team,
  { after, limit, archived }: AgentsQuery,
): Promise<AgentPage> {
  const from = after?.agent ?? null;
  const ranges = [
    keys.agentsAfter(keys.teamAgents(team.id), from),
    ...archived ? [keys.agentsAfter(keys.archivedAgents(team.id), from)] : [],
  ];
  const options = { limit: limit + 1 };
  const lists = await Promise.all(ranges.map((range) => listRows(store, range, options)));
  const rows = lists.length === 1 ? lists.flat() : lists.flat().sort(byBytes).slice(0, limit + 1);
  const slugs = rows.map(({ key }) => keyParts.name(key));
  const [first, last] = [slugs[0], slugs.at(-1)];
  if (first === undefined || last === undefined) return agentPageOf([], limit);
  const range = keys.agentActivityRange(team.id, first, last);
  return agentPageOf(join(rows, await listRows(store, range)), limit);
}

async function readAgents(
  store: Store,
  team: Team,
  { archived }: AgentsQuery,
): Promise<AgentRecord[]> {
  const [agents, archivedRows, activities] = await Promise.all([
    listRows(store, { prefix: keys.teamAgents(team.id) }),
    archived ? listRows(store, { prefix: keys.archivedAgents(team.id) }) : [],
    listRows(store, { prefix: keys.agentActivities(team.id) }),
  ]);
  return join([...agents, ...archivedRows], activities);
}

/** Ratio of all agents to a page's entries above which reading only the entries is cheaper. */
const AGENTS_PER_ENTRY = 10;

/** Returns whether the page holds few of the agents, and no archived ones have to be skipped. */
function isShort({ limit, archived }: AgentsQuery, used: number, unused: number): boolean {
  return (archived || unused === 0) && limit * AGENTS_PER_ENTRY < used + unused;
}

/**
 * Lists a short page: the activity rows give the order, and only the agents on the page are read.
 * Null if other agents may belong on it: those without activity, or one archived meanwhile.
 */
async function listLatest(
  store: Store,
  team: Team,
  { limit, after, archived }: AgentsQuery,
): Promise<AgentPage | null> {
  const activities = await listRows(store, { prefix: keys.agentActivities(team.id) });
  const candidates = afterLastSeen(activities, positionOf, after).slice(0, limit + 1);
  if (candidates.length <= limit) return null;
  const slugs = candidates.map(positionOf).map(({ agent }) => agent);
  const used = await getAll(store, slugs.map((slug) => keys.agent(team.id, slug)));
  const archivedRows = archived
    ? await getAll(store, slugs.map((slug) => keys.archivedAgent(team.id, slug)))
    : [];
  const records = slugs.flatMap((slug, i) => {
    const stored = (used[i]?.value ?? archivedRows[i]?.value ?? null) as StoredAgent | null;
    return stored === null ? [] : [recordOf(slug, stored, candidates[i]?.value, !used[i]?.value)];
  });
  return records.length === slugs.length ? agentPageOf(records, limit) : null;
}

function positionOf({ key, value }: Rows[number]): AgentPosition {
  return { agent: keyParts.name(key), lastSeen: (value as AgentActivity).lastSeen };
}

type Rows = readonly Deno.KvEntry<unknown>[];

/** Joins agents with their activity; the two may be from different snapshots. */
function join(agents: Rows, activities: Rows): AgentRecord[] {
  const bySlug = new Map(
    activities.map(({ key, value }) => [keyParts.name(key), value as AgentActivity]),
  );
  return agents.map(({ key, value }) =>
    recordOf(
      keyParts.name(key),
      value as StoredAgent,
      bySlug.get(keyParts.name(key)),
      key[0] !== USED,
    )
  );
}

/** Orders by slug as the store does: by UTF-8 bytes. */
function byBytes({ key: a }: Rows[number], { key: b }: Rows[number]): number {
  return Buffer.compare(Buffer.from(keyParts.name(a)), Buffer.from(keyParts.name(b)));
}
