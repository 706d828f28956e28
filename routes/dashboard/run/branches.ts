/** Reads the child runs of a trace, as far as they are unfolded, and the ends of failed runs. */
import type { RunId } from "../../../domain/core/ids.ts";
import { explainCalls } from "../../../domain/runs/explain_cost.ts";
import { storedFacts } from "../../../domain/runs/event.ts";
import type { PlacedPage, PositionedEvent, RunHandle } from "../../../domain/runs/event_page.ts";
import { causesOf, type Descendant, type RunLineage } from "../../../domain/runs/list.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import { EVENTS_PAGE_BYTES_MAX } from "../../../domain/core/limits.ts";
import type { Reader } from "../layout/page.tsx";
import { CHILDREN_LISTED, ROWS_PER_PAGE, type TraceView, UNFOLDED_STEPS_MAX } from "./paths.ts";
import { isFailure } from "./texts.ts";

/** The page of a run without events. */
export const NO_EVENTS: PlacedPage = { after: null, events: [], next: null };

/** Events to read at the end of a failed run, if no event of a page failed. */
const LAST_EVENTS_MAX = 900;

/** Reads the last events of a failed run, which contain the reason; of others none. */
export async function readEnd(stored: RunHandle, { status, usage }: RunRecord, first: PlacedPage) {
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

/** Maximum child runs read, and reads in parallel. */
const BRANCHES_MAX = 40, PARALLEL_MAX = 4;

/**
 * Reads child runs: all if the trace has few steps, else the one that the view unfolds, and the
 * failed ones that explain a failure. The others stay folded.
 */
export async function loadBranches(
  reader: Reader,
  run: RunRecord,
  { descendants, isCut }: RunLineage,
  view: TraceView,
) {
  const listed = [...Map.groupBy(descendants, ({ parent }) => parent).values()]
    .flatMap((children) => children.slice(0, CHILDREN_LISTED));
  const steps = listed.reduce((sum, { row }) => sum + row.usage.events + 1, run.usage.events);
  const isUnfolded = !isCut && listed.length === descendants.length && steps <= UNFOLDED_STEPS_MAX;
  const isOpen = (id: RunId) => isUnfolded || id === view.open || id === view.inRun;
  const causes = failedPath(run, listed).map(({ id }) => id);
  const others = listed.map(({ row }) => row.id).filter((id) => isOpen(id) && !causes.includes(id));
  const wanted = [...causes, ...others].slice(0, BRANCHES_MAX);
  const loaded = new Map<RunId, LoadedBranch>();
  for (let chars = 0; wanted.length > 0 && chars < EVENTS_PAGE_BYTES_MAX;) {
    const group = wanted.splice(0, PARALLEL_MAX).map((id) => loadBranch(reader, id));
    for (const child of await Promise.all(group)) {
      if (child === null) continue;
      loaded.set(child.run, child);
      for (const { data } of new Set([...child.events, ...child.end.events])) chars += data.length;
    }
  }
  const shown = listed.filter(({ parent }) => parent === run.id || loaded.has(parent));
  const folded = shown.map(({ row }) => row.id).filter((id) => !loaded.has(id));
  const lines = await reader.deps.lineage.lines(reader.team, folded.slice(0, ROWS_PER_PAGE));
  return shown.map(({ row, parent }) => {
    const child = loaded.get(row.id) ?? null;
    const goal = child?.record.opening?.goal ?? lines.get(row.id)?.name ?? null;
    // A child run that was read for its cause stays folded.
    return { row, parent, goal, loaded: child, open: isOpen(row.id) ? child : null };
  });
}

/** Returns the child runs that explain a failure, from the run down; none for a success. */
export function failedPath(run: RunRecord, children: readonly Descendant[]) {
  const failed = children.map(({ row }) => row).filter(({ status }) => isFailure(status));
  return isFailure(run.status) ? causesOf(run.id, failed) : [];
}

/** A child run that was read. */
export type LoadedBranch = NonNullable<Awaited<ReturnType<typeof loadBranch>>>;

async function loadBranch({ deps, team }: Reader, id: RunId) {
  const stored = await deps.runs.find(team, id);
  if (stored === null) return null;
  const record = assemble(id, stored);
  const page = await stored.page(null, ROWS_PER_PAGE);
  const end = await readEnd(stored, record, { after: null, ...page });
  // A failed child shows its end, which has the reason.
  const isWhole = page.next === null;
  const events = !isWhole && end.events.length > 0 ? end.events.slice(-ROWS_PER_PAGE) : page.events;
  return {
    ...{ run: id, record, stored, events, isWhole, isRoot: false, end },
    calls: callsOf(stored, events),
    /** Number of its events that were not read. */
    unread: isWhole ? 0 : Math.max(0, record.usage.events - events.length),
  };
}

/** Returns the calls of some events by their ids, and by null the one that a heartbeat reports. */
export function callsOf(stored: RunHandle, events: readonly PositionedEvent[]) {
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
