/**
 * Lists of runs, read from the index: each page reads a bounded number of rows, whatever it asks for.
 *
 * @module
 */
import { judgeId, type RunId, type TeamId } from "../../domain/core/ids.ts";
import {
  isListed,
  RUN_KINDS,
  type RunListPage,
  type RunListRow,
  type RunListStore,
  type RunPosition,
  type RunsQuery,
} from "../../domain/runs/list.ts";
import { keys, type RunIndexKind } from "../base/keys.ts";
import { maybeListed } from "./index_value.ts";
import { agentPart, costPartsFrom, customerPart, featurePart } from "../base/index_parts.ts";
import type { Store } from "../store.ts";
import { Budget } from "./budget.ts";
import { modelParts } from "./model_parts.ts";
import {
  comparePositionsInIndex,
  type IndexCursor,
  type IndexPosition,
  MergedIndexCursor,
  SingleIndexCursor,
} from "./cursors.ts";
import { readPresentRows, readSummedRows } from "./rows.ts";
import { IndexIntersection } from "./index_intersection.ts";

/**
 * Rows that one page may read of runs it does not show, more or less: each read counts as some more, and
 * for each run that it may show there are a few besides.
 */
export const PAGE_ROWS_MAX = 1_000;

/** Runs that are read at once. */
const RUNS_PER_READ = 50;

/** Runs that are passed by before it is looked anew which part of the index is the rarest. */
const IN_VAIN_MAX = 250;

/** Rows of the index that may be read for each run that a page may show. */
const ROWS_PER_RUN = 4;

/** In front of all runs. */
const TOP: IndexPosition = { at: Number.MAX_SAFE_INTEGER, run: "" };

/** Creates the store that lists of runs are read from. */
export function createRunListStore(store: Store): RunListStore {
  return {
    page: (team, query, after, limit) =>
      store.reads.run(team.id, () => readRunListPage(store, team.id, query, after, limit)),
  };
}

/** Reads a page; `budget` counts what that takes. */
export async function readRunListPage(
  store: Store,
  team: TeamId,
  query: RunsQuery,
  after: RunPosition | null,
  limit: number,
  budget: Budget = new Budget(PAGE_ROWS_MAX + limit * ROWS_PER_RUN),
): Promise<RunListPage> {
  if (judgeId("run", query.q) === "valid") return await readOne(store, team, query, after);
  const parts = await partsOf(store, team, query, budget, limit);
  const walk = new IndexIntersection(parts, startOf(query, after), budget);
  const maybe = maybeListed(query);
  const rows: RunListRow[] = [];
  while (true) {
    const some = await nextRuns(walk, query.q, maybe, Math.min(RUNS_PER_READ, limit - rows.length));
    if (some.length === 0) {
      const next = walk.isEnd ? null : walk.passed;
      return { rows, next, searchedTo: next?.at ?? null };
    }
    const shown = await readRows(store, team, query, some);
    rows.push(...shown);
    budget.spendOnRuns(some.length - shown.length);
    if (shown.length * 2 < some.length) walk.chooseAgain();
    // Each read is of no more runs than are missing, so a full page ends with the last one.
    if (rows.length === limit) {
      const isLast = await walk.next() === null && walk.isEnd;
      return { rows, next: isLast ? null : some.at(-1) ?? null, searchedTo: null };
    }
  }
}

/** The run that a whole id names, as a page of its own. */
async function readOne(
  store: Store,
  team: TeamId,
  query: RunsQuery,
  after: RunPosition | null,
): Promise<RunListPage> {
  const ids = after === null ? [query.q as RunId] : [];
  const rows = (await readPresentRows(store, team, ids))
    .filter((row) => isListed(row, query));
  return { rows, next: null, searchedTo: null };
}

/** The next runs of a walk that may be among what is asked for, by their ids and what their rows tell. */
async function nextRuns(
  walk: IndexIntersection,
  text: string = "",
  maybe: (value: unknown) => boolean,
  max: number,
): Promise<readonly RunPosition[]> {
  const some: RunPosition[] = [];
  let inVain = 0;
  while (some.length < max) {
    const found = await walk.next();
    if (found === null) break;
    if (found.run.includes(text) && maybe(found.value)) {
      some.push(found);
      inVain = 0;
    } else if (++inVain % IN_VAIN_MAX === 0) {
      walk.chooseAgain();
    }
  }
  return some;
}

/** Reads runs without those that are not what the index said a moment ago, or not all that is asked. */
async function readRows(
  store: Store,
  team: TeamId,
  query: RunsQuery,
  places: readonly RunPosition[],
): Promise<RunListRow[]> {
  const rows = await readSummedRows(store, team, places.map(({ run }) => run));
  return places.flatMap(({ run }) => {
    const row = rows.get(run);
    return row !== undefined && isListed(row, query) ? [row] : [];
  });
}

function startOf({ to }: RunsQuery, after: RunPosition | null): IndexPosition {
  const newest = to === null ? TOP : { at: to, run: "" };
  return after !== null && comparePositionsInIndex(after, newest) < 0 ? after : newest;
}

/** The parts of the index that hold what a query asks for; at least one. */
async function partsOf(
  store: Store,
  team: TeamId,
  query: RunsQuery,
  budget: Budget,
  limit: number,
): Promise<IndexCursor[]> {
  const { agent, customer, feature, status, kind, model, minCost, has } = query;
  const wanted: [RunIndexKind, readonly string[]][] = [];
  if (has !== undefined) wanted.push(["has", [has]]);
  // What has no opening is found by that alone.
  if (has !== "orphan") {
    if (typeof agent === "string") wanted.push(["agent", [agentPart(agent)]]);
    if (typeof customer === "string") wanted.push(["customer", [customerPart(customer)]]);
    if (typeof feature === "string") wanted.push(["feature", [featurePart(feature)]]);
    if (model !== undefined) {
      wanted.push(["model", await modelParts(store, team, model, query.provider)]);
    }
    if (status !== undefined) wanted.push(["status", [status]]);
    if (minCost !== undefined) wanted.push(["cost", costPartsFrom(minCost)]);
    // A run keeps its kind, so that none is passed by while it changes.
    if (kind !== undefined || wanted.length === 0) {
      wanted.push(["kind", kind === undefined ? RUN_KINDS : [kind]]);
    }
  }
  return wanted.map(([kind, names]) => {
    // A single part is read for a page at once; where there are several, nobody knows how far each leaps.
    const expected = wanted.length === 1 ? 2 * (limit + 1) / names.length : 0;
    const rowsFirst = Math.min(expected, limit + 1);
    const members = names.map((name) => {
      const range = (place: IndexPosition) =>
        keys.runsFrom(team, kind, name, query.from ?? 0, place);
      return new SingleIndexCursor(store, range, budget, rowsFirst);
    });
    return members.length === 1 && members[0] !== undefined
      ? members[0]
      : new MergedIndexCursor(members);
  });
}
