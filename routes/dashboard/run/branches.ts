/** Reads the child runs of a trace, as far as they are unfolded, and the ends of failed runs. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { explainCalls, type ExplainedCall } from "../../../domain/runs/explain_cost.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import type { PlacedPage, PositionedEvent, RunHandle } from "../../../domain/runs/event_page.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import { EVENTS_PAGE_BYTES_MAX } from "../../../domain/core/limits.ts";
import type { AppDeps } from "../../http/context.ts";
import { CHILDREN_LISTED, ROWS_PER_PAGE, type TraceView, UNFOLDED_STEPS_MAX } from "./paths.ts";
import { isFailure } from "./steps.ts";

/** The page of a run without events. */
export const NO_EVENTS: PlacedPage = { after: null, events: [], next: null };

/** Events to read at the end of a failed run, if none of those of a page failed. */
const LAST_EVENTS_MAX = 900;

/** Reads the last events of a failed run, which contain the reason; of others none. */
export async function readEnd(
  stored: RunHandle,
  { status, usage }: RunRecord,
  first: PlacedPage,
): Promise<PlacedPage> {
  if (!isFailure(status)) return NO_EVENTS;
  if (first.after === null && first.next === null) return first;
  const end = await stored.last(ROWS_PER_PAGE);
  if (usage.errors === 0 || end.after === null || end.events.some(isFailing)) return end;
  return await stored.last(LAST_EVENTS_MAX);
}

/** Returns whether an event reports a failure. */
export function isFailing({ type, data }: PositionedEvent): boolean {
  return storedFacts(type, data).error;
}

/** A child run of the trace. */
export type ChildBranch = Awaited<ReturnType<typeof loadBranches>>[number];

/** Maximum generations of child runs, child runs read, and reads in parallel. */
const GENERATIONS_MAX = 10, BRANCHES_MAX = 40, PARALLEL_MAX = 4;

/**
 * Reads child runs, generation by generation: all while the trace has few steps, else the one that
 * the view unfolds, and the failed ones that the cause of a failure may be in. Those that do not fit
 * stay folded.
 */
export async function loadBranches(
  deps: AppDeps,
  team: Team,
  run: RunRecord,
  children: readonly RunListRow[],
  view: TraceView,
  isUnfolded: boolean,
) {
  const branches = [];
  const visited = new Set<RunId>([run.id]);
  let stepsLeft = isUnfolded ? UNFOLDED_STEPS_MAX - run.usage.events : -1;
  let [runsLeft, charsLeft] = [BRANCHES_MAX, EVENTS_PAGE_BYTES_MAX];
  const isNamed = (id: RunId) => id === view.open || id === view.inRun;
  let waiting = children.map((row) => ({ row, parent: run.id, isCause: isFailure(run.status) }));
  for (let generation = 1; waiting.length > 0 && generation <= GENERATIONS_MAX; generation++) {
    // Of a failed run's children, the last one that failed explains the failure.
    const cause = lastFailed(waiting.filter(({ isCause }) => isCause))?.row.id;
    const fresh = waiting.filter(({ row }) => !visited.has(row.id) && visited.add(row.id));
    const wanted: RunId[] = [];
    for (const { row: { id, usage } } of fresh) {
      if (id === cause || isNamed(id)) wanted.unshift(id);
      else if (usage.events <= stepsLeft) {
        stepsLeft -= usage.events + 1;
        wanted.push(id);
      }
    }
    const loaded = new Map<RunId, LoadedBranch>();
    while (wanted.length > 0 && runsLeft > 0 && charsLeft > 0) {
      const group = wanted.splice(0, PARALLEL_MAX).map((id) => loadBranch(deps, team, id));
      for (const child of await Promise.all(group)) {
        if (child === null) continue;
        const { run, events, end } = child;
        loaded.set(run, child);
        runsLeft--;
        for (const { data } of new Set([...events, ...end.events])) charsLeft -= data.length;
      }
    }
    const folded = fresh.filter(({ row }) => !loaded.has(row.id)).slice(0, CHILDREN_LISTED);
    const lines = await deps.lineage.lines(team, folded.map(({ row }) => row.id));
    for (const { row, parent } of fresh) {
      const child = loaded.get(row.id) ?? null;
      const goal = child?.record.opening?.goal ?? lines.get(row.id)?.name ?? null;
      branches.push({ row, parent, goal, loaded: child });
    }
    waiting = [...loaded.values()].flatMap(({ run, children }) =>
      children.map((row) => ({ row, parent: run, isCause: run === cause }))
    );
  }
  const steps = stepCount(run, branches.map(({ row }) => row));
  return branches.map((branch) => {
    // A child run that was read for its cause stays folded.
    const isOpen = steps <= UNFOLDED_STEPS_MAX || isNamed(branch.row.id);
    return { ...branch, open: isOpen ? branch.loaded : null };
  });
}

/** Returns the number of steps of a run and of others. */
export function stepCount(run: RunRecord, others: readonly RunListRow[]): number {
  return others.reduce((sum, { usage }) => sum + usage.events + 1, run.usage.events);
}

/** Returns the child run that failed last; undefined if none failed. */
export function lastFailed<Child extends { readonly row: RunListRow }>(
  children: readonly Child[],
): Child | undefined {
  const startOf = ({ row: { startedAt, sortedAt } }: Child) => startedAt ?? sortedAt;
  return children.filter(({ row }) => isFailure(row.status))
    .toSorted((a, b) => startOf(a) - startOf(b)).at(-1);
}

/** A child run that was read. */
export type LoadedBranch = NonNullable<Awaited<ReturnType<typeof loadBranch>>>;

async function loadBranch(deps: AppDeps, team: Team, id: RunId) {
  const [stored, listed] = await Promise.all([
    deps.runs.find(team, id),
    deps.lineage.children(team, id, CHILDREN_LISTED),
  ]);
  if (stored === null) return null;
  const record = assemble(id, stored);
  const [page, children] = await Promise.all([
    stored.page(null, ROWS_PER_PAGE),
    deps.lineage.rows(team, listed),
  ]);
  const end = await readEnd(stored, record, { after: null, ...page });
  // A failed child shows its end, which has the reason.
  const isWhole = page.next === null;
  const events = !isWhole && end.events.length > 0 ? end.events.slice(-ROWS_PER_PAGE) : page.events;
  return {
    ...{ run: id, record, stored, children, events, isWhole, isRoot: false, end },
    calls: callsOf(stored, events),
    /** Number of its events that were not read. */
    unread: isWhole ? 0 : Math.max(0, record.usage.events - events.length),
  };
}

/** Returns the calls of some events by their ids, and by null the one that a heartbeat reports. */
export function callsOf(
  stored: RunHandle,
  events: readonly PositionedEvent[],
): ReadonlyMap<string | null, ExplainedCall> {
  const calls = explainCalls({ ...stored, events }, true);
  return new Map(calls.map((call) => [call.eventId, call]));
}

/** Events before a failure on the page that opens at it. */
const EVENTS_BEFORE = 8;

/** Finds the failure that ended a run: its place among the last events, and before that of the page. */
export function failureIn({ events, after }: PlacedPage) {
  const index = events.findLastIndex(isFailing);
  return { index, before: events[index - EVENTS_BEFORE - 1]?.position ?? after };
}
