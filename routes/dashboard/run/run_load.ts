/** Reads the data of a run's page: the run, its steps, why it failed, and the runs around it in a list. */
import { CHECKS } from "../../../domain/checks/check.ts";
import { JUDGES } from "../../../domain/judges/judge_body.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import type {
  EventPosition,
  PlacedPage,
  PositionedEvent,
  RunHandle,
} from "../../../domain/runs/event_page.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import { coversCalls, traitsOf } from "../../../domain/runs/cost.ts";
import { isStated } from "../../../domain/runs/run.ts";
import { type RunListPage, totalsOf, usualOf } from "../../../domain/runs/list.ts";
import { addCounts } from "../../../domain/core/sums.ts";
import type { RequestContext } from "../../http/context.ts";
import { readIncidentsOfRun } from "../alerts/entries.tsx";
import { obstacleText } from "../judges/results.tsx";
import { readAll } from "../objects/known_values.tsx";
import { callsOf, failureIn, loadBranches, type LoadedBranch, readEnd } from "./branches.ts";
import {
  isFiltered,
  matchesEvent,
  ROWS_PER_PAGE,
  tracePath,
  type TraceView,
  UNFOLDED_STEPS_MAX,
} from "./paths.ts";
import { isFailure, lineOf } from "./texts.ts";
import { Overloaded, unlessRefused } from "../../../domain/core/errors.ts";
import type { Reader, Visit } from "../layout/page.tsx";
import { runsCursorText } from "../../api/runs/run_list.ts";
import { capitalized, formatCount } from "../components/format.ts";
import { RUNS_PATH } from "../layout/paths.ts";
import { ListQuery, parseListQuery, PRESETS } from "../runs/query.ts";

/** The data of a run's page. */
export type RunData = NonNullable<Awaited<ReturnType<typeof loadRun>>>;

/** Maximum events of a trace with a map and marks: a page that reloads reads fewer. */
const SPANS_MAX = { usual: 5_000, live: 1_000 } as const;

/** Runs of the agent whose medians are usual, and runs that failures are counted in. */
const LATEST = { usual: 50, recent: 20 } as const;

/** Loads a run; null if the team has no run with that id. */
export async function loadRun(visit: Visit, id: RunId, view: TraceView) {
  const { deps, team, isAdmin } = visit;
  const [stored, family, neighbours] = await Promise.all([
    deps.runs.find(team, id),
    deps.lineage.of(team, id),
    findNeighbours(visit, id, view.list),
  ]);
  if (stored === null) return null;
  const run = assemble(id, stored);
  const { agent, startedAt, receivedAt } = run;
  const to = (startedAt ?? receivedAt) + 1;
  const { after } = view;
  const isShort = after === null && run.usage.events <= UNFOLDED_STEPS_MAX;
  const [read, branches, agentRuns, incidents, checks, obstacles, success] = await Promise.all([
    stored.page(after, isShort ? UNFOLDED_STEPS_MAX : ROWS_PER_PAGE),
    loadBranches(visit, run, family, view),
    agent === null ? null : deps.runList.page(team, { agent, from: null, to }, null, LATEST.usual),
    readIncidentsOfRun(visit, id),
    run.checks.length === 0 ? [] : readAll(visit, CHECKS),
    readObstacles(visit, run),
    isFailure(run.status) ? lastSuccess(visit, run) : null,
  ]);
  const latest = agentRuns?.rows ?? [];
  const first = { after, ...read };
  const isWhole = after === null && first.next === null;
  const end = await readEnd(stored, run, first);
  const page = isWhole ? first : await pageOf(stored, view, first, end);
  const isLive = run.status === "running" || run.cost.state === "pending" || awaitsChecks(run);
  const spansMax = SPANS_MAX[isLive ? "live" : "usual"];
  const spans = await readSpans([
    { run: id, record: run, stored, events: page.events, isWhole },
    ...branches.flatMap(({ open }) => open ?? []),
  ], spansMax);
  const calls = callsOf(stored, page.events);
  return {
    run,
    view,
    neighbours,
    /** The page of events shown: with filters and several pages, the events that match. */
    page: { ...stored, ...page },
    /** The position that the page follows. */
    after: page.after,
    /** True if the page has all events of the run. */
    isWhole,
    /** Spans of all events of the run and of the child runs shown; null if they are too many. */
    spans,
    spansMax,
    /** True if the page has the events that match. */
    isSearch: isFiltered(view) && !isWhole,
    family,
    /** Totals of the run and of the runs that it started. */
    totals: addCounts(family.totals, totalsOf(run)),
    branches,
    calls,
    /** The call that a heartbeat reports itself. */
    ownCall: calls.get(null) ?? null,
    traits: traitsOf(stored, run.cost.unpricedModels),
    /** True if the run states its own cost. */
    isStated: isStated(stored.parts),
    end,
    /** Runs of the agent up to a failed one, newest first; none for other runs. */
    recent: isFailure(run.status) ? latest.slice(0, LATEST.recent) : [],
    /** The last success before a failed run; null for none. */
    success,
    /** Usual duration and own cost of the agent's runs; null if too few ended. */
    usual: usualOf(latest),
    /** The latest incidents that it belongs to, oldest first. */
    incidents,
    /** Identifiers of the team's checks; empty for a run without results. */
    checkIds: new Set(checks.map((check) => check.id ?? "")),
    obstacles,
    /** True if the run is about to change. */
    isLive,
    isAdmin,
    nowMs: deps.environment.now(),
  };
}

/** Returns words about what keeps judges from judging a run, by slug; none for a judge that calls. */
async function readObstacles(reader: Reader, run: RunRecord): Promise<ReadonlyMap<string, string>> {
  const pending = run.judges.filter(({ state }) => state === "pending").map(({ judge }) => judge);
  if (pending.length === 0) return new Map();
  const all = await readAll(reader, JUDGES);
  const judges = all.filter(({ slug }) => pending.includes(slug));
  const states = await reader.deps.judgeStates(reader.team, judges);
  return new Map(judges.flatMap((judge, i) => {
    const obstacle = states[i]?.obstacle ?? null;
    return obstacle === null ? [] : [[judge.slug, obstacleText(judge, obstacle)]];
  }));
}

/** Returns the page of a long run to show: with what matches, with the failure, or the one asked for. */
async function pageOf(stored: RunHandle, view: TraceView, first: PlacedPage, end: PlacedPage) {
  if (isFiltered(view)) return await findMatches(stored, view);
  const { after } = view;
  // After the last event, such as while the last step takes its time, there are the last steps.
  if (after !== null && first.events.length === 0) return await stored.last(ROWS_PER_PAGE);
  const { index, before } = failureIn(end);
  if (after !== null || view.event !== null || index < 0 || before === null) return first;
  return { after: before, ...await stored.page(before, ROWS_PER_PAGE) };
}

const EVENTS_PER_READ = 500;

/** Reads the events after a position, in pages. */
async function* pagesOf(stored: RunHandle, after: EventPosition | null) {
  let next = after;
  do {
    const page = await stored.page(next, EVENTS_PER_READ);
    yield page;
    next = page.next;
  } while (next !== null);
}

/** Maximum reads of a search. */
const READS_MAX = 4;

/** Finds events that match, after the position of the view; a long search has a next page. */
async function findMatches(stored: RunHandle, view: TraceView): Promise<PlacedPage> {
  const { after } = view;
  const events: PositionedEvent[] = [];
  let [next, reads] = [after, 0];
  for await (const page of pagesOf(stored, after)) {
    for (const event of page.events) {
      if (!matchesEvent(event, view)) continue;
      events.push(event);
      if (events.length === ROWS_PER_PAGE) return { after, events, next: event.position };
    }
    next = page.next;
    if (++reads === READS_MAX) break;
  }
  return { after, events, next };
}

/** A run whose steps are shown. */
type ShownRun = Pick<LoadedBranch, "run" | "record" | "stored" | "events" | "isWhole">;

/** Time, kind and cost of an event. */
export type Span = NonNullable<Awaited<ReturnType<typeof readSpans>>>[number];

/** Reads of spans in addition to the reads of full pages: for events above 2 KB. */
const MORE_READS = 4;

/** Reads the spans of the runs that are shown with their steps; null if they are too many. */
async function readSpans(shown: readonly ShownRun[], max: number) {
  if (shown.reduce((sum, { record }) => sum + record.usage.events, 0) > max) return null;
  const spans = [];
  let reads = max / EVENTS_PER_READ + MORE_READS;
  for (const { run, stored, events: known, isWhole } of shown) {
    // Where heartbeats say what the run costs, its calls cost nothing.
    const isCovered = coversCalls(stored.parts);
    for await (const { events } of isWhole ? [{ events: known }] : pagesOf(stored, null)) {
      if (!isWhole && --reads < 0) return null;
      for (const event of events) {
        const { id, type, data, ts: atMs, position } = event;
        const { error, latencyMs: durationMs = 0 } = storedFacts(type, data);
        const cost = isCovered ? 0n : event.cost;
        const tree = treeIn(data);
        spans.push({ run, id, type, position, atMs, durationMs, cost, error, tree });
      }
    }
  }
  return spans;
}

/** Characters of an event in which its place in a tree is found: instrumentations send it first. */
const TREE_CHARS = 2_000;

/** Reads the place of an event in its tree without parsing all of its data. */
function treeIn(data: string) {
  const [, id = null, parent = null] =
    /"span":\{"id":"(\w+)"(?:,"parent":"(\w+)")?/.exec(data.slice(0, TREE_CHARS)) ?? [];
  return { id, parent };
}

/** Maximum characters of a list's query in a link. */
const LIST_CHARS_MAX = 1_000;

/**
 * Returns the query of the list that a reader came from: as a link has it, else the query of the list
 * that the browser names as the page before.
 */
export function listOf(c: RequestContext): string | null {
  const { list } = c.req.query();
  if (list !== undefined) return list.slice(0, LIST_CHARS_MAX);
  const referrer = URL.parse(c.req.header("referer") ?? "");
  if (referrer?.pathname !== RUNS_PATH) return null;
  const query = new URLSearchParams(referrer.search);
  query.delete("live");
  query.delete("seen");
  return query.toString().slice(0, LIST_CHARS_MAX);
}

/** Finds the neighbours of a run on the page of its list; null without a list. */
async function findNeighbours({ deps, team }: Reader, id: RunId, list: string | null) {
  if (list === null) return null;
  const { runList, environment } = deps;
  const request = unlessRefused(() => parseListQuery(list, environment.now()), () => null);
  if (request === null) return null;
  const { query, after, limit, isWindowDefault } = request;
  const { rows, next } = await runList.page(team, query, after, limit).catch(noPage);
  const at = rows.findIndex((row) => row.id === id);
  const pathOf = (row: { readonly id: RunId } | undefined, list: string) =>
    row === undefined ? null : tracePath(row.id, { list });
  // The next run may be on the next page of the list.
  const isLast = at === rows.length - 1 && next !== null;
  const further = new URLSearchParams(list);
  if (isLast) further.set("cursor", runsCursorText(next, isWindowDefault ? query.from : null));
  const nextPage = isLast ? await runList.page(team, query, next, 1).catch(noPage) : null;
  const following = nextPage === null ? rows[at + 1] : nextPage.rows[0];
  // The length of a list is known only where it ends.
  const count = formatCount(rows.length);
  const all = after !== null ? `${count} on the page` : next === null ? count : `${count}+`;
  return {
    /** Name of the filter of the list, such as `Failed`, and its path. */
    name: nameOf(list),
    path: RUNS_PATH + (list === "" ? "" : `?${list}`),
    /** Place on the page of the list; null if the run is no longer on it, nor its neighbours. */
    place: at < 0 ? null : `${formatCount(at + 1)} of ${all}`,
    previous: pathOf(rows[at - 1], list),
    next: at < 0 ? null : pathOf(following, isLast ? `${further}` : list),
  };
}

/** A run has no neighbours while too many searches wait to find them (R45). */
function noPage(error: unknown): RunListPage {
  if (error instanceof Overloaded) return { rows: [], next: null, searchedTo: null };
  throw error;
}

/** Parameters of a list that do not filter it by a value that names it. */
const NAMELESS = /^(?:cursor|limit|from|to|since|root|open)$/;

/** Maximum characters of a list's name. */
const NAME_CHARS = 60;

/** Returns the preset of a list, else the values that it is filtered by. */
function nameOf(list: string): string {
  const query = new ListQuery(list);
  const preset = query.isOnlyPreset && PRESETS.find((preset) => query.isPreset(preset));
  if (preset) return preset.name === "All" ? "All runs" : preset.name;
  const values = [...query].filter(([key]) => !NAMELESS.test(key)).map(([, value]) => value);
  return capitalized(lineOf(values.join(", "), NAME_CHARS));
}

/** Returns whether the checks of a closed run are still to be done. */
export function awaitsChecks({ cost, processing }: Pick<RunRecord, "cost" | "processing">) {
  const state = processing.find(({ stage }) => stage === "checks")?.state;
  // Before the cost is final, it is not known whether a check applies.
  return cost.state === "final" && (state === "pending" || state === "retrying");
}

/**
 * Returns the latest success of the same agent, and if possible feature, before a run; null for
 * none.
 */
export async function lastSuccess(
  { deps, team }: Reader,
  { id, agent, feature, startedAt }: RunRecord,
): Promise<RunId | null> {
  if (agent === null) return null;
  const query = { agent, status: "success", from: null, to: startedAt ?? null } as const;
  const find = async (more: { readonly feature?: string }) =>
    (await deps.runList.page(team, { ...query, ...more }, null, 2)).rows.find((row) =>
      row.id !== id
    )
      ?.id;
  return (feature === null ? null : await find({ feature })) ?? await find({}) ?? null;
}
