/**
 * Reads which runs a run started, from the index that the worker writes.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import { CHILDREN_MAX, DESCENDANTS } from "../../domain/core/limits.ts";
import type { RunLineage } from "../../domain/runs/list.ts";
import type { Team } from "../../domain/teams/team.ts";
import { keys } from "../base/keys.ts";
import { ALL_ENTRIES, listEntries } from "../entries.ts";
import type { Store } from "../store.ts";
import { readListRows, readSummaries, type RunAt, type TeamAt } from "./heads.ts";

/** Reads lineages. */
export type LineageStore = ReturnType<typeof createLineageStore>;

export function createLineageStore(store: Store) {
  return {
    /** Returns the summarized children and descendants of a run. */
    of: ({ id: team }: Team, id: RunId) =>
      store.reads.run(team, () => readLineage({ store, team, id })),
    /** Returns the summarized children of a run, latest start first; at most `limit`. */
    children: ({ id: team }: Team, id: RunId, limit: number) =>
      store.reads.run(team, () => childrenOf({ store, team, id }, limit)),
    /**
     * Returns runs of the team as list rows, in the order of `ids`; missing runs are left out.
     *
     * @param ids at most `CHILDREN_MAX` and a parent, each once
     */
    rows: (team: Team, ids: readonly RunId[]) =>
      store.reads.run(team.id, () => readListRows({ store, team: team.id }, ids)),
  };
}

/** Reads a run's lineage, generation by generation. It takes no slot of the team's reads. */
export async function readLineage(run: RunAt): Promise<RunLineage> {
  const listed = await childrenOf(run, Math.max(CHILDREN_MAX, DESCENDANTS.max) + 1);
  const children = listed.slice(0, CHILDREN_MAX);
  // A run whose parent is one of its descendants is visited again, but counted once.
  const visited = new Set<RunId>([run.id]);
  let next = listed;
  let cost = 0n;
  let isCut = false;
  for (let generation = 1; next.length > 0; generation++) {
    const fresh = [...new Set(next)].filter((run) => !visited.has(run));
    const remaining = generation > DESCENDANTS.generations
      ? 0
      : DESCENDANTS.max - (visited.size - 1);
    if (fresh.length > remaining) isCut = true;
    const group = fresh.slice(0, remaining);
    for (const run of group) visited.add(run);
    cost += await costOfAll(run, group);
    // One more than the remaining limit, to detect further ones.
    const limit = DESCENDANTS.max - (visited.size - 1) + 1;
    const lists = await Promise.all(group.map((id) => childrenOf({ ...run, id }, limit)));
    next = lists.flat();
  }
  return { children, hasMore: listed.length > CHILDREN_MAX, cost, isCut };
}

/** Returns the children of a run, latest start first. */
async function childrenOf({ store, team, id }: RunAt, limit: number): Promise<RunId[]> {
  const order = keys.runsBy(team, "parent", id);
  const { entries } = await listEntries(store, order, ALL_ENTRIES, { limit, reverse: true });
  return entries.map(({ run }) => run);
}

/** Returns the total cost of runs by their summaries. */
async function costOfAll(at: TeamAt, ids: readonly RunId[]): Promise<bigint> {
  const summaries = await readSummaries(at, ids);
  return summaries.values().reduce(
    (cost, { contribution }) => cost + (contribution?.cost ?? 0n),
    0n,
  );
}
