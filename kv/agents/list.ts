/**
 * Lists of a team's agents: by slug, or those seen last first.
 *
 * @module
 */
import type { Team } from "../../domain/teams/team.ts";
import type { Parsed } from "../../domain/core/errors.ts";
import {
  afterLastSeen,
  type AgentPage,
  agentPageOf,
  type AgentPosition,
  type AgentRecord,
  type AgentsQuery,
  pageByLastSeen,
  sortRefusal,
} from "../../domain/agents/agents.ts";
import type { AgentActivity } from "../../domain/agents/activity.ts";
import { keys } from "../base/keys.ts";
import { getAll, getMany, listRows, type Store } from "../store.ts";
import type { StoredAgent } from "./rows.ts";
import { recordOf } from "./change.ts";

/** Where the slug stands in a key, and what the keys of agents in use begin with. */
const SLUG = 2, USED = "agent";

/** Lists a page of a team's agents, or says why not in this order. */
export async function listAgents(
  store: Store,
  team: Team,
  query: AgentsQuery,
): Promise<Parsed<AgentPage>> {
  if (query.sort === "agent") {
    return {
      ok: true,
      value: await store.reads.run(team.id, () => listBySlug(store, team, query)),
    };
  }
  const counts = await store.reads.run(
    team.id,
    () => getMany(store, [keys.agentCount(team.id), keys.archivedAgents(team.id)]),
  );
  const [used, archived] = counts.map(({ value }) => Number(value ?? 0)) as [number, number];
  const problem = sortRefusal(used + (query.archived ? archived : 0));
  if (problem !== null) return { ok: false, problem };
  const short = isShort(query, used, archived)
    ? await store.reads.run(team.id, () => listLatest(store, team, query))
    : null;
  if (short !== null) return { ok: true, value: short };
  const all = await store.reads.run(team.id, () => readAgents(store, team, query));
  return { ok: true, value: pageByLastSeen(all, query) };
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
  const found = await Promise.all(ranges.map((range) => listRows(store, range, options)));
  const rows = found.length === 1 ? found.flat() : found.flat().sort(byBytes).slice(0, limit + 1);
  const slugs = rows.map(({ key }) => String(key[SLUG]));
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
  const [agents, gone, activities] = await Promise.all([
    listRows(store, { prefix: keys.teamAgents(team.id) }),
    archived ? listRows(store, { prefix: keys.archivedAgents(team.id) }) : [],
    listRows(store, { prefix: keys.agentActivities(team.id) }),
  ]);
  return join([...agents, ...gone], activities);
}

/** Agents there are for each on a page, from which on it pays to read only those on it. */
const AGENTS_PER_SHOWN = 10;

/** Whether a page has few of the agents, and none has to be passed by for being archived. */
function isShort({ limit, archived }: AgentsQuery, used: number, unused: number): boolean {
  return (archived || unused === 0) && limit * AGENTS_PER_SHOWN < used + unused;
}

/**
 * A short page: what their runs come to says the order, and besides only the agents on it are read. Null
 * where others belong on it too: those without a run that is summed up, or one archived meanwhile.
 */
async function listLatest(
  store: Store,
  team: Team,
  { limit, after, archived }: AgentsQuery,
): Promise<AgentPage | null> {
  const activities = await listRows(store, { prefix: keys.agentActivities(team.id) });
  const shown = afterLastSeen(activities, positionOf, after).slice(0, limit + 1);
  if (shown.length <= limit) return null;
  const slugs = shown.map(positionOf).map(({ agent }) => agent);
  const used = await getAll(store, slugs.map((slug) => keys.agent(team.id, slug)));
  const gone = archived
    ? await getAll(store, slugs.map((slug) => keys.archivedAgent(team.id, slug)))
    : [];
  const records = slugs.flatMap((slug, i) => {
    const stored = (used[i]?.value ?? gone[i]?.value ?? null) as StoredAgent | null;
    return stored === null ? [] : [recordOf(slug, stored, shown[i]?.value, !used[i]?.value)];
  });
  return records.length === slugs.length ? agentPageOf(records, limit) : null;
}

function positionOf({ key, value }: Rows[number]): AgentPosition {
  return { agent: String(key[SLUG]), lastSeen: (value as AgentActivity).lastSeen };
}

type Rows = readonly Deno.KvEntry<unknown>[];

/** Joins agents with what their runs come to; the two may be of different moments. */
function join(agents: Rows, activities: Rows): AgentRecord[] {
  const bySlug = new Map(activities.map(({ key, value }) => [key[SLUG], value as AgentActivity]));
  return agents.map(({ key, value }) =>
    recordOf(
      String(key[SLUG]),
      value as StoredAgent,
      bySlug.get(key[SLUG] ?? ""),
      key[0] !== USED,
    )
  );
}

/** By slug as the store sorts them: by the bytes of UTF-8, which is the order of code points. */
function byBytes({ key: a }: Rows[number], { key: b }: Rows[number]): number {
  const [left, right] = [a, b].map((key) => Array.from(String(key[SLUG])));
  for (const [i, char] of left?.entries() ?? []) {
    const other = right?.[i];
    if (other === undefined) return 1;
    if (char !== other) return (char.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0);
  }
  return (left?.length ?? 0) - (right?.length ?? 0);
}
