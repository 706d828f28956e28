/** Loads the data of a run's page: the run, the steps of its trace, and the cause of its failure. */
import type { Principal } from "../../../domain/teams/credentials.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { CONFIG_PER_PAGE } from "../../../domain/config/objects.ts";
import { explainCalls } from "../../../domain/runs/explain_cost.ts";
import type { EventPosition, RunPage } from "../../../domain/runs/event_page.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import { coversCalls } from "../../../domain/runs/cost.ts";
import { isStated } from "../../../domain/runs/run.ts";
import { type RunListRow, totalsOf, usualOf } from "../../../domain/runs/list.ts";
import { addCounts } from "../../../domain/core/sums.ts";
import { traitsOf } from "../../../domain/runs/flags.ts";
import type { AppDeps } from "../../http/context.ts";
import { mayAdmin } from "../../http/access.ts";
import { readIncidentsOfRun } from "../alerts/entries.tsx";
import { loadBranches, unfolded } from "./branches.ts";
import { awaitsChecks } from "./checks.tsx";
import {
  CHILDREN_LISTED,
  isFiltered,
  ROWS_PER_PAGE,
  type TraceView,
  UNFOLDED_STEPS_MAX,
} from "./paths.ts";
import { isFailing, LAST_EVENTS, readEnd, type RunEnd } from "./run_end.ts";
import { findMatches } from "./search.ts";
import { readSpans, SPANS_MAX } from "./spans.ts";
import { isFailure } from "./steps.ts";

/** The data of a run's page. */
export type LoadedRun = NonNullable<Awaited<ReturnType<typeof loadRun>>>;

/** Events before a failure on the page that opens at it. */
const EVENTS_BEFORE = 8;

/** Loads a run; null if the team has no run with that id. */
export async function loadRun(
  deps: AppDeps,
  principal: Principal,
  id: RunId,
  view: TraceView,
) {
  const { team } = principal;
  const nowMs = deps.environment.now();
  const [first, family] = await Promise.all([
    deps.runs.read(team, id, view.after, ROWS_PER_PAGE, LAST_EVENTS.first),
    deps.lineage.of(team, id),
  ]);
  if (first === null) return null;
  const run = assemble(id, first);
  const parents = run.opening?.parentRunId === undefined ? [] : [run.opening.parentRunId];
  const relativeIds = new Set([...parents, ...family.children.slice(0, CHILDREN_LISTED)]);
  const [relatives, end, latest, incidents, checkIds] = await Promise.all([
    relativeIds.size === 0 ? [] : deps.lineage.rows(team, [...relativeIds]),
    readEnd(deps, team, run, first, view.after),
    readLatest(deps, team, run),
    readIncidentsOfRun(deps, team, id),
    readCheckIds(deps, team, run),
  ]);
  const children = relatives.filter(({ id }) => id !== parents[0] || family.children.includes(id));
  const steps = children.reduce((sum, { usage }) => sum + usage.events + 1, run.usage.events);
  const isUnfolded = steps <= UNFOLDED_STEPS_MAX && children.length === family.children.length;
  const { page, after } = await pageOf(deps, team, run, { first, end, view, isUnfolded });
  const found = isFiltered(view) && page.next !== null
    ? await findMatches(deps, team, run, view)
    : null;
  const branches = await loadBranches(deps, team, { run, children, view, isUnfolded });
  const shown = unfolded({ run, view, branches });
  const ownEvents = page.next === null && after === null ? page.events : null;
  const isLive = run.status === "running" || run.cost.state === "pending" || awaitsChecks(run);
  const spans = await readSpans(deps, team, [
    { id, count: run.usage.events, events: ownEvents, isCovered: coversCalls(page.parts) },
    ...shown.map(({ run, record: { usage }, events, unread, isCovered }) => (
      { id: run, count: usage.events, events: unread === 0 ? events : null, isCovered }
    )),
  ], SPANS_MAX[isLive ? "live" : "usual"]);
  const calls = explainCalls(page, true);
  return {
    run,
    view,
    /** The page of events shown, and the position that it follows. */
    page,
    after,
    /** Child runs that are shown with their steps. */
    unfolded: new Set(shown.map(({ run }) => run)),
    /** Spans of all events of the run and of those child runs; null if they are too many. */
    spans,
    /** Events that match the filters of a run with further pages. */
    found,
    family,
    /** Totals of the run and of the runs that it started. */
    totals: addCounts(family.totals, totalsOf(run)),
    children,
    branches,
    /** The parent and the first children, if the team has them. */
    relatives: new Map(relatives.map((row) => [row.id, row])),
    calls: new Map(calls.map((call) => [call.eventId as string | null, call])),
    /** The call that a heartbeat reports itself. */
    ownCall: calls.find(({ eventId }) => eventId === null) ?? null,
    traits: traitsOf(page, run.cost.unpricedModels),
    /** True if the run states its own cost. */
    isStated: isStated(page.parts),
    end,
    /** Runs of the agent up to a failed one, newest first; none for other runs. */
    recent: isFailure(run.status) ? latest.slice(0, LATEST.recent) : [],
    /** Usual duration and own cost of the agent's runs; null if too few ended. */
    usual: usualOf(latest),
    /** The latest incidents that it belongs to, oldest first. */
    incidents,
    /** Identifiers of the team's checks; empty for a run without results. */
    checkIds,
    /** True if the run is about to change. */
    isLive,
    isAdmin: mayAdmin(principal),
    nowMs,
  };
}

/** Reads the identifiers of the team's checks, to which results lead. */
async function readCheckIds(
  { checks }: AppDeps,
  team: Team,
  run: RunRecord,
): Promise<ReadonlySet<string>> {
  if (run.checks.length === 0) return new Set();
  const { objects } = await checks.list(team, { limit: CONFIG_PER_PAGE.max, after: null });
  return new Set(objects.map(({ id }) => id ?? ""));
}

/** Runs of the agent whose medians are usual, and those that a failure is counted in. */
const LATEST = { usual: 50, recent: 20 } as const;

/** Reads the latest runs of a run's agent, up to the run itself. */
async function readLatest(
  { runList }: AppDeps,
  team: Team,
  { agent, startedAt, receivedAt }: RunRecord,
): Promise<readonly RunListRow[]> {
  if (agent === null) return [];
  const query = { agent, from: null, to: (startedAt ?? receivedAt) + 1 };
  return (await runList.page(team, query, null, LATEST.usual)).rows;
}

interface PageChoice {
  readonly first: RunPage;
  readonly end: RunEnd;
  readonly view: TraceView;
  readonly isUnfolded: boolean;
}

/** Returns the page to show: the requested one, all of a short run, or the one with the failure. */
async function pageOf(
  { runs }: AppDeps,
  team: Team,
  { id }: RunRecord,
  { first, end, view, isUnfolded }: PageChoice,
): Promise<{ readonly page: RunPage; readonly after: EventPosition | null }> {
  const read = async (after: EventPosition | null, limit: number) => ({
    page: await runs.read(team, id, after, limit, LAST_EVENTS.first) ?? first,
    after,
  });
  // After the last event, such as while the last step takes its time, there are the last steps.
  if (view.after !== null && first.events.length === 0 && !isFiltered(view)) {
    return first.nearEnd === null
      ? await read(null, ROWS_PER_PAGE)
      : await read(first.nearEnd, ROWS_PER_PAGE);
  }
  if (view.after !== null || first.next === null) return { page: first, after: view.after };
  if (isUnfolded) return await read(null, UNFOLDED_STEPS_MAX);
  const failing = end.events.findLastIndex(isFailing);
  if (failing < 0 || view.event !== null || isFiltered(view)) return { page: first, after: null };
  const before = end.events[failing - EVENTS_BEFORE - 1];
  const after = before?.position ?? end.after;
  return after === null ? { page: first, after } : await read(after, ROWS_PER_PAGE);
}
