/**
 * Lists runs from the index; each page reads a bounded number of rows, whatever the query.
 *
 * @module
 */
import { isRunId, type RunId, type TeamId } from "../../domain/core/ids.ts";
import {
  isListed,
  RUN_KINDS,
  type RunListPage,
  type RunListRow,
  type RunPosition,
  type RunStart,
  type RunStartsOf,
  summedRowOf,
  timesUsual,
  UNUSUAL,
  usualOf,
  type UsualRun,
} from "../../domain/runs/list.ts";
import {
  detailsOf,
  isSearch,
  matchesDetails,
  needsDetails,
  needsScan,
  type OneOf,
  type RunsQuery,
  type UnusualFigure,
  valuesOf,
} from "../../domain/runs/list_filter.ts";
import {
  agentPart,
  comparePositions,
  costPartsFrom,
  customerPart,
  featurePart,
  firstOrder,
  modelPart,
  modelPrefix,
  type Position,
} from "../index/entries.ts";
import { keys, type RunIndexKind } from "../base/keys.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { Store } from "../store.ts";
import {
  Budget,
  type IndexCursor,
  IndexIntersection,
  MergedIndexCursor,
  SingleIndexCursor,
} from "./cursors.ts";
import {
  type HeadRows,
  readHeadRows,
  readListRows,
  readSummaries,
  summariesIn,
  type TeamRef,
} from "../runs/heads.ts";
import { readManyParts } from "../runs/texts.ts";
import { maybeListed, readStarts } from "./run_index.ts";

/**
 * Approximate maximum of rows that one page reads in search of matching runs. Each read has a fixed
 * cost, and each run of the page adds {@link ROWS_PER_RUN} rows.
 */
export const PAGE_ROWS_MAX = 1_000;

/** Runs read in one batch, and in one of a search that no index answers. */
const RUNS_PER_READ = { usual: 50, scan: 200 } as const;

/** Milliseconds of a search that no index answers (R45). */
const SCAN_MS = 1_000;

/**
 * Milliseconds from the call of a search to its end, within the deadline of a read: one that waited
 * long for its slot reads for less long, and its page says how far it came.
 */
const SEARCH_MS_MAX = 1_500;

/** Latest runs of an agent whose medians are its usual figures. */
const USUAL_RUNS = 50;

/** Runs that may fail the filter before the smallest index ranges are selected again. */
const MISSES_MAX = 250;

/** Index rows that may be read for each run of a page. */
const ROWS_PER_RUN = 4;

/** Position before all runs. */
const TOP: Position = { at: Number.MAX_SAFE_INTEGER, run: "" };

/** Reads the run lists of all teams. */
export type RunListStore = ReturnType<typeof createRunListStore>;

export function createRunListStore(store: Store) {
  return {
    /**
     * Reads a page. A run appears within moments of the call that changed it.
     *
     * @param after position after which the page starts, or null for the first page
     * @param limit maximum runs on the page
     * @param scanMs maximum milliseconds of a search that no index answers
     */
    page: (
      team: Pick<Team, "id">,
      query: RunsQuery,
      after: RunPosition | null,
      limit: number,
      scanMs: number = SCAN_MS,
    ): Promise<RunListPage> => {
      const endMs = performance.now() + SEARCH_MS_MAX;
      const reads = isSearch(query) ? store.searches : store.reads;
      return reads.run(team.id, () => {
        const leftMs = Math.min(scanMs, endMs - performance.now());
        const budget = needsScan(query) ? Budget.ofScan(leftMs) : undefined;
        return readRunListPage(store, team.id, query, after, limit, budget);
      });
    },
    /**
     * Reads the starts of runs from the index, in no particular order.
     *
     * @param toMs exclusive end, unix milliseconds
     * @returns null if there are more than `max`
     */
    starts: (
      team: Pick<Team, "id">,
      of: RunStartsOf,
      fromMs: number,
      toMs: number,
      max: number,
    ): Promise<readonly RunStart[] | null> =>
      store.reads.run(team.id, () => readStarts(store, team.id, of, fromMs, toMs, max)),
  };
}

/** Reads a page; `budget` limits the rows read. */
export async function readRunListPage(
  store: Store,
  team: TeamId,
  query: RunsQuery,
  after: RunPosition | null,
  limit: number,
  budget: Budget = new Budget(PAGE_ROWS_MAX + limit * ROWS_PER_RUN),
): Promise<RunListPage> {
  const at = { store, team };
  const id = query.q ?? query.text?.toLowerCase();
  if (query.ids !== undefined) return await pageOf(at, query.ids, query, after, limit);
  if (isRunId(id)) {
    // The run with exactly this id is a page of its own.
    const { text: _, ...filters } = query;
    return await pageOf(at, [id], filters, after, limit);
  }
  const cursors = await cursorsOf(at, query, budget, limit);
  const intersection = new IndexIntersection(cursors, startOf(query, after), budget);
  const mayMatch = maybeListed(query);
  const usual = new Map<string, UsualRun | null>();
  const rows: RunListRow[] = [];
  while (true) {
    const missing = limit - rows.length;
    const perRead = needsScan(query) ? RUNS_PER_READ.scan : Math.min(RUNS_PER_READ.usual, missing);
    const candidates = await nextRuns(intersection, query.q, mayMatch, perRead);
    if (candidates.length === 0) {
      const next = intersection.isEnd ? null : intersection.passed;
      return { rows, next, searchedTo: next?.at ?? null };
    }
    const matching = await readRows(at, query, candidates, usual);
    rows.push(...matching.slice(0, missing));
    budget.spendOnRuns(candidates.length - matching.length);
    if (matching.length * 2 < candidates.length) intersection.chooseAgain();
    if (rows.length < limit) continue;
    const last = candidates.find(({ run }) => run === rows.at(-1)?.id) ?? null;
    const hasMore = matching.length > missing || last?.run !== candidates.at(-1)?.run ||
      await intersection.next() !== null || !intersection.isEnd;
    return { rows, next: hasMore ? last : null, searchedTo: null };
  }
}

/** Reads a page of the runs with the given ids that match a query. */
async function pageOf(
  at: TeamRef,
  ids: readonly RunId[],
  query: RunsQuery,
  after: RunPosition | null,
  limit: number,
): Promise<RunListPage> {
  const matching = await filterRows(at, await readListRows(at, [...new Set(ids)]), query);
  const rows = matching.map((row) => ({ row, at: row.sortedAt, run: row.id }))
    .filter((position) => after === null || comparePositions(position, after) < 0)
    .sort((a, b) => comparePositions(b, a));
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    rows: rows.slice(0, limit).map(({ row }) => row),
    next: last === undefined ? null : { at: last.at, run: last.run },
    searchedTo: null,
  };
}

/** Returns the next runs whose ids and index values may match the query. */
async function nextRuns(
  intersection: IndexIntersection,
  text: string = "",
  mayMatch: (value: unknown) => boolean,
  max: number,
): Promise<readonly RunPosition[]> {
  const candidates: RunPosition[] = [];
  let misses = 0;
  while (candidates.length < max) {
    const candidate = await intersection.next();
    if (candidate === null) break;
    if (candidate.run.includes(text) && mayMatch(candidate.value)) {
      candidates.push(candidate);
      misses = 0;
    } else if (++misses % MISSES_MAX === 0) {
      intersection.chooseAgain();
    }
  }
  return candidates;
}

/** Reads runs; omits runs that do not match the query, or no longer. */
async function readRows(
  at: TeamRef,
  query: RunsQuery,
  positions: readonly RunPosition[],
  usual: Map<string, UsualRun | null>,
): Promise<readonly RunListRow[]> {
  const ids = positions.map(({ run }) => run);
  const stored = needsDetails(query) ? await readHeadRows(at.store, at.team, ids) : null;
  const summaries = stored === null ? await readSummaries(at, ids) : summariesIn(stored);
  const rows = Array.from(summaries, ([run, summary]) => summedRowOf(run, summary));
  return await filterRows(at, rows, query, usual, stored);
}

/** Returns the rows that match a query; what costs a read is checked last. */
async function filterRows(
  at: TeamRef,
  all: readonly RunListRow[],
  query: RunsQuery,
  usual: Map<string, UsualRun | null> = new Map(),
  stored: ReadonlyMap<RunId, HeadRows> | null = null,
): Promise<readonly RunListRow[]> {
  let rows = all.filter((row) => isListed(row, query));
  if (query.isRoot === true) rows = await rootsOf(at, rows);
  if (query.unusual !== undefined) rows = await unusualOf(at, rows, query.unusual, usual);
  if (!needsDetails(query)) return rows;
  const matching = new Set<RunId>();
  const ids = rows.map(({ id }) => id);
  const parts = stored === null
    ? await readHeadRows(at.store, at.team, ids)
    : new Map(ids.map((id) => [id, stored.get(id) ?? new Map()]));
  const wanted = { scores: query.scores !== undefined, texts: needsTexts(query) };
  await readManyParts(at, parts, wanted, (id, parts, addedScores) => {
    if (matchesDetails(id, detailsOf(parts, addedScores), query)) matching.add(id);
  });
  return rows.filter(({ id }) => matching.has(id));
}

/** Returns whether goal, output or error decide. */
function needsTexts({ text, error }: RunsQuery): boolean {
  return text !== undefined || error !== undefined;
}

/** Returns the runs without a parent, or whose parent is not stored. */
async function rootsOf(at: TeamRef, rows: readonly RunListRow[]): Promise<RunListRow[]> {
  const parents = new Set(rows.flatMap(({ parent }) => parent ?? []));
  const stored = parents.size === 0 ? null : await readSummaries(at, [...parents]);
  return rows.filter(({ parent }) => parent === null || !stored?.has(parent));
}

/** Returns the runs with at least twice the usual figure of their agents. */
async function unusualOf(
  { store, team }: TeamRef,
  rows: readonly RunListRow[],
  figure: UnusualFigure,
  usual: Map<string, UsualRun | null>,
): Promise<RunListRow[]> {
  for (const agent of new Set(rows.flatMap(({ agent }) => agent ?? []))) {
    if (usual.has(agent)) continue;
    const ofAgent = { agent, from: null, to: null };
    const latest = await readRunListPage(store, team, ofAgent, null, USUAL_RUNS);
    usual.set(agent, usualOf(latest.rows));
  }
  return rows.filter((row) =>
    timesUsual(row, usual.get(row.agent ?? "") ?? null, figure) >= UNUSUAL.factor
  );
}

function startOf({ to }: RunsQuery, after: RunPosition | null): Position {
  const newest = to === null ? TOP : { at: to, run: "" };
  return after !== null && comparePositions(after, newest) < 0 ? after : newest;
}

/** Returns the index ranges that hold what a query filters by; at least one. */
async function cursorsOf(
  at: TeamRef,
  query: RunsQuery,
  budget: Budget,
  limit: number,
): Promise<IndexCursor[]> {
  const { agent, customer, feature, status, kind, model, minCost, has } = query;
  const ranges: [RunIndexKind, readonly string[]][] = [];
  if (has !== undefined) ranges.push(["has", [has]]);
  // Runs without an opening are indexed only as orphans.
  if (has !== "orphan") {
    const addRange = (
      kind: RunIndexKind,
      wanted: OneOf<string | null> = null,
      partOf = (name: string) => name,
    ) => {
      const names = valuesOf(wanted).filter((name) => name !== null);
      // No index has the runs without a label.
      if (names.length === valuesOf(wanted).length) ranges.push([kind, names.map(partOf)]);
    };
    addRange("agent", agent, agentPart);
    addRange("customer", customer, customerPart);
    addRange("feature", feature, featurePart);
    if (model !== undefined) {
      const parts = valuesOf(model).map((name) => modelParts(at, name, query.provider));
      ranges.push(["model", (await Promise.all(parts)).flat()]);
    }
    addRange("status", status);
    if (minCost !== undefined) ranges.push(["cost", costPartsFrom(minCost)]);
    // A run's kind never changes, so no run is skipped while it changes.
    if (kind !== undefined || ranges.length === 0) {
      ranges.push(["kind", kind === undefined ? RUN_KINDS : [kind]]);
    }
  }
  return ranges.map(([kind, names]) => {
    // A single range is read a page at a time. With several ranges, the seek distance is unknown.
    const expected = ranges.length === 1 ? 2 * (limit + 1) / names.length : 0;
    const entriesFirst = Math.min(expected, limit + 1);
    const members = names.map((name) => {
      const order = keys.runsBy(at.team, kind, name);
      return new SingleIndexCursor(at.store, order, query.from ?? 0, budget, entriesFirst);
    });
    return members.length === 1 && members[0] !== undefined
      ? members[0]
      : new MergedIndexCursor(members);
  });
}

/** Maximum number of providers searched; a query of a model with more should name one. */
const NAMES_MAX = 20;

/** Sorts after every other character. */
const LAST = "\u{10FFFF}";

/**
 * Reads the index names of a model, one after the other.
 *
 * @param provider undefined for any, null for none
 */
export async function modelParts(
  at: TeamRef,
  model: string,
  provider: string | null | undefined,
): Promise<string[]> {
  if (provider !== undefined) return [modelPart({ provider, model })];
  const names: string[] = [];
  let name = await nextModelPart(at, model, null);
  while (name !== null && names.push(name) < NAMES_MAX) {
    name = await nextModelPart(at, model, name);
  }
  return names;
}

/** Reads the index name of a model after a name; the first one after null. */
export async function nextModelPart(
  { store, team }: TeamRef,
  model: string,
  after: string | null,
): Promise<string | null> {
  const prefix = modelPrefix(model);
  const from = after === null ? prefix : `${after}\0`;
  return await firstOrder(store, keys.runsOfNames(team, "model", from, prefix + LAST));
}
