/** The trace of a loaded run: its rows in order, its axis, and the cause of its failure. */
import { orderAsTree, tickStepOf, type TraceRow } from "../../../domain/runs/trace.ts";
import { explainCalls } from "../../../domain/runs/explain_cost.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { lineOf, membersOf, previewOf, proseLine, reasonIn } from "./event_preview.ts";
import type { LoadedRun } from "./load.ts";
import { isFiltered } from "./paths.ts";
import { isFailing, type RunEnd } from "./run_end.ts";
import { matchesStep } from "./search.ts";
import { marksOf } from "./spans.ts";
import { type Branch, eventSteps, isFailure, runStep, spanKey, type Step } from "./steps.ts";

/** Maximum characters of a reason. */
const REASON_CHARS = 600;

/** Events before a failure that its tries are counted in. */
const TRIES_WITHIN = 100;

/** A trace as the waterfall shows it. */
export type Trace = ReturnType<typeof traceOf>;

/** A loaded run and its trace. */
export type TraceProps = LoadedRun & { readonly trace: Trace };

/** Builds the trace of a loaded run. */
export function traceOf(loaded: LoadedRun) {
  const { run, page, calls, found, view, nowMs } = loaded;
  const events = found?.events ?? page.events;
  const spans = loaded.spans ?? [];
  const root: Branch = {
    run: run.id,
    events,
    calls: found === null ? calls : callsOf(loaded, events),
    isRoot: true,
  };
  const startMs = startOf(loaded);
  const cause = causeOf(loaded);
  const own = eventSteps(root);
  const steps: Step[] = [
    runStep({ ...run, cost: { ...run.cost, amount: loaded.totals.cost } }, {
      parent: null,
      atMs: startMs,
      text: null,
      failure: isFailure(run.status) ? reasonOf(run) ?? "" : null,
      folded: null,
    }, nowMs),
    ...own,
    ...childSteps(loaded, new Set(own.map(({ key }) => key))),
  ];
  const all = orderAsTree(steps);
  const rows = isFiltered(view)
    ? all.filter(({ step }) => matchesStep(step, view)).map((row) => ({
      ...row,
      depth: 0,
      below: 0,
    }))
    : all;
  const endMs = Math.max(
    startMs,
    run.finishedAt ?? nowMs,
    startMs + (run.durationMs ?? 0),
    ...steps.map((step) => step.endMs),
    ...spans.map(({ atMs, durationMs }) => atMs + durationMs),
  );
  const lengthMs = Math.max(1, endMs - startMs);
  return {
    rows,
    /** Start of the axis, its length, milliseconds between its ticks, and the usual end on it. */
    axis: {
      startMs,
      lengthMs,
      stepMs: tickStepOf(lengthMs),
      usualMs: usualEndOf(loaded, lengthMs),
    },
    marks: marksOf(spans),
    cause,
    selected: selectedOf(loaded, rows, cause),
  };
}

/** Returns where the usual run ends on the axis; null if not on it. */
function usualEndOf({ usual }: LoadedRun, lengthMs: number): number | null {
  return usual !== null && usual.durationMs > 0 && usual.durationMs < lengthMs
    ? usual.durationMs
    : null;
}

function callsOf({ page }: LoadedRun, events: readonly PositionedEvent[]): Branch["calls"] {
  const calls = explainCalls({ ...page, events }, false);
  return new Map(calls.map((call) => [call.eventId as string | null, call]));
}

/** Returns the start of the axis: the run's start, or its first event if that is earlier. */
function startOf({ run, page, spans }: LoadedRun): number {
  const own = spans?.filter((span) => span.run === run.id).map(({ atMs }) => atMs) ?? [];
  const first = Math.min(run.startedAt ?? Infinity, ...page.events.map(({ ts }) => ts), ...own);
  return Number.isFinite(first) ? first : run.receivedAt;
}

/**
 * Returns the steps of child runs that belong to the page of events shown.
 *
 * @param known keys of the steps of the run of the page
 */
function childSteps(loaded: LoadedRun, known: ReadonlySet<string>): Step[] {
  const { branches, run, page, after, nowMs, found } = loaded;
  const from = after === null ? -Infinity : page.events[0]?.ts ?? after.ts;
  const to = page.next === null ? Infinity : page.next.ts;
  const keys = new Set(known);
  return branches.flatMap(({ row, parent, goal, loaded: branch }) => {
    const atMs = row.startedAt ?? row.receivedAt;
    const isHere = parent !== run.id || (atMs >= from && atMs <= to) || found !== null;
    if (!isHere) return [];
    // A child run that was read for its cause stays folded.
    const isOpen = branch !== null && loaded.unfolded.has(row.id);
    const { events, errors } = row.usage;
    const span = spanKey(parent, branch?.record.opening?.trace?.spanId ?? "");
    const amount = costWithChildren(loaded, row);
    const own = runStep({ ...row, cost: { ...row.cost, amount } }, {
      parent: keys.has(span) ? span : parent,
      atMs,
      text: goal === null ? null : proseLine(goal, 140),
      failure: isFailure(row.status) ? (branch && reasonOf(branch.record)) ?? "" : null,
      folded: isOpen
        ? branch.unread === 0 ? null : { steps: branch.unread, failed: 0 }
        : events === 0
        ? null
        : { steps: events, failed: errors },
    }, nowMs);
    const steps = isOpen ? eventSteps(branch) : [];
    for (const { key } of steps) keys.add(key);
    return [own, ...steps];
  });
}

/** Returns the cost of a child run with that of the runs of the trace that it started. */
function costWithChildren(loaded: LoadedRun, { id, cost }: RunListRow): bigint {
  return loaded.branches.filter(({ parent }) => parent === id)
    .reduce((sum, { row }) => sum + costWithChildren(loaded, row), cost.amount);
}

/** Returns why a run failed, in its own words: its note, or the error in its output. */
export function reasonOf({ note, output }: RunRecord): string | null {
  const reason = note ?? (output === null ? null : reasonIn(membersOf(output, "message")));
  return reason === null ? null : lineOf(reason, REASON_CHARS);
}

/** The failing step that explains a failure, and the runs that it is in. */
export interface Cause {
  /** Child runs from the run of the page to the one that failed, by id and agent. */
  readonly path: readonly { readonly id: RunId; readonly agent: string | null }[];
  /** The failing event, else the last one; null if none was read. */
  readonly event: PositionedEvent | null;
  /** True if the event reports a failure. */
  readonly isFailing: boolean;
  /** Number of failures of the same step before and including this one. */
  readonly tries: number;
  /** Position that the page of the event follows, for the run of the page. */
  readonly after: LoadedRun["after"];
  /** Reason that the run with the event gives itself; null for none. */
  readonly reason: string | null;
}

/** Follows failed child runs down to the step that failed; null for a run that did not fail. */
export function causeOf(loaded: LoadedRun): Cause | null {
  const { run, branches, page, after, end } = loaded;
  if (!isFailure(run.status)) return null;
  const path: { id: RunId; agent: string | null }[] = [];
  let at: { run: RunRecord; end: RunEnd } = { run, end };
  for (let depth = 0; depth <= branches.length; depth++) {
    const failed = branches
      .filter(({ parent, row }) => parent === at.run.id && isFailure(row.status))
      .toSorted((a, b) => (a.row.startedAt ?? 0) - (b.row.startedAt ?? 0)).at(-1);
    if (failed === undefined) break;
    path.push({ id: failed.row.id, agent: failed.row.agent });
    if (failed.loaded === null) return { ...NO_EVENT, path };
    at = { run: failed.loaded.record, end: failed.loaded.end };
  }
  const { events } = at.end;
  const index = events.findLastIndex(isFailing);
  const event = events[index] ?? events.at(-1) ?? null;
  const onPage = at.run === run && event !== null &&
    page.events.some(({ id }) => id === event.id);
  return {
    path,
    event,
    isFailing: index >= 0,
    tries: index < 0 ? 0 : triesOf(events, index),
    after: onPage ? after : events[index - 9]?.position ?? at.end.after,
    reason: reasonOf(at.run),
  };
}

const NO_EVENT = { event: null, isFailing: false, tries: 0, after: null, reason: null };

function triesOf(events: readonly PositionedEvent[], index: number): number {
  const nameAt = (i: number) => {
    const event = events[i];
    return event === undefined ? "" : `${event.type} ${previewOf(event).name}`;
  };
  const name = nameAt(index);
  const first = Math.max(0, index - TRIES_WITHIN);
  let tries = 0;
  for (let i = first; i <= index; i++) {
    const event = events[i];
    if (event !== undefined && isFailing(event) && nameAt(i) === name) tries++;
  }
  return tries;
}

/** Returns the selected step: the requested one, the cause of the failure, or the run. */
function selectedOf(
  { view, run }: LoadedRun,
  rows: readonly TraceRow<Step>[],
  cause: Cause | null,
): Step | null {
  const find = (event: string | undefined | null, inRun: string | null) =>
    rows.find(({ step }) =>
      step.run === (inRun ?? run.id) &&
      (event ? step.preview?.event.id === event : step.preview === null)
    )?.step ?? null;
  if (view.event !== null || view.inRun !== null) return find(view.event, view.inRun);
  const failing = cause?.isFailing === true
    ? find(cause.event?.id, cause.path.at(-1)?.id ?? null)
    : null;
  return failing ?? rows[0]?.step ?? null;
}
