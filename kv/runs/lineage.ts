/**
 * Reads which runs a run started, from the index that the worker writes.
 *
 * @module
 */
import type { RunId } from "../../domain/core/ids.ts";
import { addCounts } from "../../domain/core/sums.ts";
import { CHILDREN_MAX, DESCENDANTS } from "../../domain/core/limits.ts";
import { linesOf, type RunLines } from "../../domain/runs/list_filter.ts";
import {
  addToFamily,
  type Descendant,
  NO_FAMILY,
  NO_TOTALS,
  type RunFamily,
  type RunLineage,
  type RunTotals,
  summedRowOf,
  totalsOf,
} from "../../domain/runs/list.ts";
import type { Team } from "../../domain/teams/team.ts";
import { keys } from "../base/keys.ts";
import { ALL_ENTRIES, readEntries } from "../index/entries.ts";
import type { Store } from "../store.ts";
import { readHeadRows, readListRows, readSummaries, type RunRef, type TeamRef } from "./heads.ts";
import { readManyParts } from "./texts.ts";

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
    /** Returns the texts of runs; missing runs are left out. */
    lines: ({ id: team }: Team, ids: readonly RunId[]) =>
      store.reads.run(team, async () => {
        const lines = new Map<RunId, RunLines>();
        const rows = await readHeadRows(store, team, ids);
        await readManyParts({ store, team }, rows, { scores: false, texts: true }, (id, parts) => {
          lines.set(id, linesOf(parts, []));
        });
        return lines;
      }),
    /** Returns the families of the runs that have children, as of their summaries. */
    families: ({ id: team }: Team, ids: readonly RunId[]) =>
      store.reads.run(team, () => readFamilies({ store, team }, ids)),
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
export async function readLineage(run: RunRef): Promise<RunLineage> {
  const listed = await childrenOf(run, Math.max(CHILDREN_MAX, DESCENDANTS.max) + 1);
  const children = listed.slice(0, CHILDREN_MAX);
  // A run whose parent is one of its descendants is visited again, but counted once.
  const visited = new Set<RunId>([run.id]);
  let next = listed.map((id) => ({ id, parent: run.id }));
  const descendants: Descendant[] = [];
  let totals: RunTotals = NO_TOTALS;
  let isCut = false;
  for (let generation = 1; next.length > 0; generation++) {
    const distinct = new Map(next.map((child) => [child.id, child])).values();
    const fresh = distinct.filter(({ id }) => !visited.has(id)).toArray();
    const remaining = generation > DESCENDANTS.generations
      ? 0
      : DESCENDANTS.max - (visited.size - 1);
    if (fresh.length > remaining) isCut = true;
    const group = fresh.slice(0, remaining);
    for (const { id } of group) visited.add(id);
    const summaries = await readSummaries(run, group.map(({ id }) => id));
    for (const { id, parent } of group) {
      const summary = summaries.get(id);
      if (summary === undefined) continue;
      const row = summedRowOf(id, summary);
      descendants.push({ row, parent });
      totals = addCounts(totals, totalsOf(row));
    }
    // One more than the remaining limit, to detect further ones.
    const limit = DESCENDANTS.max - (visited.size - 1) + 1;
    const lists = await Promise.all(group.map(async ({ id: parent }) => {
      const children = await childrenOf({ ...run, id: parent }, limit);
      return children.map((id) => ({ id, parent }));
    }));
    next = lists.flat();
  }
  return { children, hasMore: listed.length > CHILDREN_MAX, descendants, totals, isCut };
}

/**
 * Reads the families of the runs of a list, generation by generation for all of them together: a
 * family of its own would cost a round trip each.
 */
async function readFamilies(
  at: TeamRef,
  ids: readonly RunId[],
): Promise<ReadonlyMap<RunId, RunFamily>> {
  const families = new Map<RunId, RunFamily>();
  // A run whose parent is one of its descendants is counted once.
  const visited = new Set(ids.map((id) => `${id} ${id}`));
  let parents = ids.map((id) => ({ id, root: id }));
  for (let left = FAMILIES.runsMax; parents.length > 0;) {
    const lists = await Promise.all(
      parents.map(({ id }) => childrenOf({ ...at, id }, FAMILIES.childrenMax + 1)),
    );
    const children = parents.flatMap(({ root }, i) =>
      (lists[i] ?? []).map((id) => ({ id, root, isChild: root === parents[i]?.id }))
    );
    const fresh = children.filter(({ id, root }) => {
      const name = `${root} ${id}`;
      return !visited.has(name) && visited.add(name);
    }).slice(0, left);
    left -= fresh.length;
    const summaries = await readSummaries(at, fresh.map(({ id }) => id));
    for (const { id, root, isChild } of fresh) {
      const summary = summaries.get(id);
      if (summary === undefined) continue;
      const family = families.get(root) ?? NO_FAMILY;
      families.set(root, addToFamily(family, summedRowOf(id, summary), isChild));
    }
    for (const [i, list] of lists.entries()) {
      const root = parents[i]?.root;
      const family = root === undefined ? undefined : families.get(root);
      if (root === undefined || family === undefined) continue;
      const isCut = list.length > FAMILIES.childrenMax || left === 0;
      families.set(root, { ...family, isCut: family.isCut || isCut });
    }
    parents = fresh;
  }
  return families;
}

/** Maximum descendants of the runs of a list, and children of each. */
const FAMILIES = { runsMax: 500, childrenMax: 25 } as const;

/** Returns the children of a run, latest start first. */
async function childrenOf({ store, team, id }: RunRef, limit: number): Promise<RunId[]> {
  const order = keys.runsBy(team, "parent", id);
  const { entries } = await readEntries(store, order, ALL_ENTRIES, { limit, reverse: true });
  return entries.map(({ run }) => run);
}
