/** The view of a loaded run: its steps as rows, its axis, its marks, and the cause of its failure. */
import {
  orderAsTree,
  spanOf,
  tickStepOf,
  type TraceRow,
  type TraceStep,
} from "../../../domain/runs/trace.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { failedPath, failureIn, isFailing, NO_EVENTS } from "./branches.ts";
import { type EventPreview, isFailure, previewOf, proseLine, reasonOf } from "./texts.ts";
import { isFiltered, matchesEvent, tracePath, type TraceView } from "./paths.ts";
import type { RunData, Span } from "./run_load.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { ExplainedCall } from "../../../domain/runs/explain_cost.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";

/** The view of a run: its trace as the waterfall shows it. */
export type Trace = ReturnType<typeof runView>;

/** The data and the view of a run, as components take them. */
export interface ViewProps {
  readonly data: RunData;
  readonly trace: Trace;
}

/** Builds the view of a loaded run. */
export function runView(data: RunData) {
  const { run, page, after, calls, view, totals, usual, nowMs } = data;
  const spans = data.spans ?? [];
  // The run may have events before its start.
  const firstSpan = spans.find((span) => span.run === run.id);
  const starts = [run.startedAt, page.events[0]?.ts, firstSpan?.atMs].flatMap((at) => at ?? []);
  const startMs = starts.length > 0 ? Math.min(...starts) : run.receivedAt;
  const all = eventSteps({ run: run.id, events: page.events, calls, isRoot: true });
  const first = beginningOf(data, all);
  const own = first === null ? all : all.filter((step) => step !== first)
    .map((step) => step.parent === first.key ? { ...step, parent: run.id } : step);
  const root = {
    ...runStep({ ...run, cost: { ...run.cost, amount: totals.cost } }, {
      parent: null,
      atMs: startMs,
      text: first?.text ?? null,
      failure: isFailure(run.status) ? reasonOf(run) ?? "" : null,
      folded: null,
    }, nowMs),
    span: first?.preview ?? null,
  };
  const steps = [root, ...own, ...childSteps(data, own)];
  const tree = orderAsTree(steps);
  const rows = !isFiltered(view) ? tree : tree.filter(({ step }) => matchesStep(step, view))
    .map(({ step }) => ({ step, depth: 0, below: 0 }));
  const endMs = Math.max(
    run.finishedAt ?? nowMs,
    startMs + (run.durationMs ?? 0),
    ...steps.map((step) => step.endMs),
    ...spans.map(({ atMs, durationMs }) => atMs + durationMs),
  );
  const lengthMs = Math.max(1, endMs - startMs);
  const usualMs = usual?.durationMs ?? 0;
  const cause = causeOf(data);
  // By default the cause of the failure is selected, else the run.
  const isDefault = view.event === null && view.inRun === null;
  const [event, inRun] = isDefault && cause?.isFailing
    ? [cause.event?.id, cause.path.at(-1)?.id]
    : [view.event, view.inRun];
  const isFirst = inRun === null && event === first?.id;
  const selectedId = !isFirst && [inRun, event].flatMap((id) => id ?? []).join(".") || run.id;
  const selected = rows.find(({ step }) => step.id === selectedId) ??
    (isDefault ? rows[0] : undefined);
  return {
    rows,
    /** Cost of the calls below each step of a complete trace whose rows are all of one run. */
    costBelow: data.isWhole ? costsBelow(rows) : new Map<Step, bigint>(),
    /** Returns the path of the same page of steps with a change of the view. */
    pathWith: (change: Partial<TraceView>) =>
      tracePath(run.id, { ...view, after: after ?? view.after, ...change }),
    /** Start of the axis, its length, milliseconds between its ticks, and the usual end on it. */
    axis: {
      startMs,
      lengthMs,
      stepMs: tickStepOf(lengthMs),
      usualMs: usualMs > 0 && usualMs < lengthMs ? usualMs : null,
    },
    marks: {
      slowest: largest(leavesOf(spans), ({ durationMs }) => durationMs),
      costliest: largest(spans.filter(({ type }) => type === "llm_call"), ({ cost }) => cost),
    },
    cause,
    selected: selected?.step ?? null,
  };
}

/** Adds up the cost below each step; steps with child runs below have none. */
function costsBelow(rows: readonly TraceRow<Step>[]): ReadonlyMap<Step, bigint> {
  const sums = [{ cost: 0n, runs: 0 }];
  for (const { step } of rows) {
    const { cost, runs } = sums.at(-1) as { cost: bigint; runs: number };
    const isRun = step.kind === "run";
    sums.push({ cost: isRun ? cost : cost + step.cost, runs: runs + Number(isRun) });
  }
  return new Map(rows.flatMap(({ step, below }, i): [Step, bigint][] => {
    const [from, to] = [sums[i + 1], sums[i + 1 + below]];
    return from === undefined || to === undefined || from.runs !== to.runs
      ? []
      : [[step, to.cost - from.cost]];
  }));
}

/** Returns the spans without others below them, which take the time themselves. */
function leavesOf(spans: readonly Span[]): readonly Span[] {
  const parents = new Set(
    spans.flatMap(({ run, tree }) => tree.parent ? `${run}/${tree.parent}` : []),
  );
  return parents.size === 0
    ? spans
    : spans.filter(({ run, tree }) => tree.id === null || !parents.has(`${run}/${tree.id}`));
}

/** Returns the first of the largest spans; null for only one, which does not stand out. */
function largest(spans: readonly Span[], sizeOf: (span: Span) => number | bigint): Span | null {
  let top: Span | null = null;
  for (const span of spans) if (sizeOf(span) > (top === null ? 0 : sizeOf(top))) top = span;
  return spans.length > 1 ? top : null;
}

/** Returns whether a step has a mark. */
export function isMarked({ run, preview }: Step, mark: Span | null): boolean {
  return mark !== null && preview?.event.id === mark.id && run === mark.run;
}

/** Returns whether a step matches the filters: a run by its name. */
function matchesStep({ preview, name, failure }: Step, view: TraceView): boolean {
  if (preview !== null) return matchesEvent(preview.event, view);
  return view.kind === null && (!view.failed || failure !== null) &&
    name.toLowerCase().includes(view.text.toLowerCase());
}

/**
 * Returns the steps of child runs that belong to the page of events shown.
 *
 * @param own steps of the run of the page
 */
function childSteps(data: RunData, own: readonly Step[]): Step[] {
  const { branches, run, page, after, nowMs, isSearch } = data;
  const from = after === null ? -Infinity : page.events[0]?.ts ?? after.ts;
  const to = page.next === null ? Infinity : page.next.ts;
  const keys = new Set(own.map(({ key }) => key));
  return branches.flatMap(({ row, parent, goal, loaded, open }) => {
    const atMs = row.startedAt ?? row.receivedAt;
    if (parent === run.id && (atMs < from || atMs > to) && !isSearch) return [];
    const { events, errors } = row.usage;
    const folded = open === null
      ? { steps: events, failed: errors }
      : { steps: open.unread, failed: 0 };
    const span = spanKey(parent, loaded?.record.opening?.trace?.spanId ?? "");
    const amount = costWithChildren(branches, row);
    const child = runStep({ ...row, cost: { ...row.cost, amount } }, {
      parent: keys.has(span) ? span : parent,
      atMs,
      text: goal === null ? null : proseLine(goal, GOAL_CHARS),
      failure: isFailure(row.status) ? (loaded && reasonOf(loaded.record)) ?? "" : null,
      folded: folded.steps === 0 ? null : folded,
    }, nowMs);
    const steps = open === null ? [] : eventSteps(open);
    for (const { key } of steps) keys.add(key);
    return [child, ...steps];
  });
}

/** Maximum characters of the goal of a child run. */
const GOAL_CHARS = 140;

/** Returns the cost of a child run and of the runs of the trace that it started. */
function costWithChildren(branches: RunData["branches"], { id, cost }: RunListRow): bigint {
  return branches.filter(({ parent }) => parent === id)
    .reduce((sum, { row }) => sum + costWithChildren(branches, row), cost.amount);
}

/** Events before a failure that its tries are counted in. */
const TRIES_WITHIN = 100;

/** Follows failed child runs down to the step that failed; null for a run that did not fail. */
function causeOf({ run, branches, page, after, end, isSearch }: RunData) {
  if (!isFailure(run.status)) return null;
  const path = failedPath(run, branches);
  const last = branches.find(({ row }) => row === path.at(-1));
  const at = path.length === 0 ? { record: run, end } : last?.loaded ?? null;
  const { events } = at?.end ?? NO_EVENTS;
  const { index, before } = failureIn(at?.end ?? NO_EVENTS);
  const event = events[index] ?? events.at(-1) ?? null;
  const isHere = at?.record === run && !isSearch && page.events.some(({ id }) => id === event?.id);
  return {
    /** Child runs from the run of the page to the one that failed, by id and agent. */
    path,
    /** The failing event, else the last one; null if none was read. */
    event,
    /** True if the event reports a failure. */
    isFailing: index >= 0,
    /** Number of failures of the same step before and including this one. */
    tries: triesOf(events.slice(Math.max(0, index - TRIES_WITHIN), index + 1)),
    /** Position that the page of the event follows, for the run of the page. */
    after: isHere ? after : before,
    /** Reason that the run with the event gives itself; null for none. */
    reason: at && reasonOf(at.record),
  };
}

/** Counts the failures of the step that is the last of some events. */
function triesOf(events: readonly PositionedEvent[]): number {
  const names = events.filter(isFailing).map((event) => `${event.type} ${previewOf(event).name}`);
  return names.filter((name) => name === names.at(-1)).length;
}

/** Kinds of steps: each has its icon and its form of bar. */
type StepKind = "run" | EventPreview["kind"];

/** A run or an event as a row of the waterfall. */
export interface Step extends TraceStep {
  /** Id of its element. */
  readonly id: string;
  readonly kind: StepKind;
  /** The run, or the run of the event. */
  readonly run: RunId;
  readonly name: string;
  /** First words of its input or answer; null for none. */
  readonly text: string | null;
  /** Reason of its failure; null if it did not fail. */
  readonly failure: string | null;
  /** Status of a run; null for an event. */
  readonly status: RunStatus | null;
  /** Duration in milliseconds; null if unknown. */
  readonly durationMs: number | null;
  /** Cost in picodollars. */
  readonly cost: bigint;
  /** End, unix milliseconds. */
  readonly endMs: number;
  /** The event; null for a run. */
  readonly preview: EventPreview | null;
  readonly call: ExplainedCall | null;
  /** Note on steps of the run that are not listed, with their number; null if all are. */
  readonly folded: { readonly steps: number; readonly failed: number } | null;
  /** Span that a run of a trace begins with; null for none, and for an event. */
  readonly span: EventPreview | null;
}

/** A run of the trace with the events that were read. */
interface Branch {
  readonly run: RunId;
  readonly events: readonly PositionedEvent[];
  readonly calls: ReadonlyMap<string | null, ExplainedCall>;
  /** True for the run of the page. */
  readonly isRoot: boolean;
}

/** Returns the steps of a run's events. */
export function eventSteps({ run, events, calls, isRoot }: Branch): Step[] {
  const previews = events.map(previewOf);
  const spans = previews.map(({ members }) => spanIn(members.get("span")));
  const known = new Set(spans.flatMap(({ id }) => id ?? []));
  return previews.map((preview, i) => {
    const { event, latencyMs, failure, text } = preview;
    const { id: own, parent } = spans[i] as ReturnType<typeof spanIn>;
    const call = calls.get(event.id) ?? null;
    return {
      key: own === null ? `${run} ${event.id}` : spanKey(run, own),
      parent: parent !== null && known.has(parent) ? spanKey(run, parent) : run,
      atMs: event.ts,
      endMs: event.ts + (latencyMs ?? 0),
      durationMs: latencyMs,
      cost: call?.cost ?? 0n,
      id: isRoot ? event.id : `${run}.${event.id}`,
      kind: preview.kind,
      run,
      name: preview.name ?? (event.type === "log" ? "" : preview.label),
      text: text === failure ? null : text,
      failure,
      status: null,
      preview,
      call,
      folded: null,
      span: null,
    };
  });
}

/**
 * Returns the step of the span that a trace begins with, if all others are below it: the run itself
 * shows it. Null for none.
 */
function beginningOf({ run, page, isWhole }: RunData, steps: readonly Step[]): Step | null {
  const [first = null, ...others] = steps.filter(({ parent }) => parent === run.id);
  const id = page.ages.trace?.begin?.id;
  if (first === null || id === undefined || !isWhole || others.length > 0) return null;
  const isStep = first.kind === "agent" || first.kind === "span";
  return isStep && first.key === spanKey(run.id, id) ? first : null;
}

/** Returns the key of a span, as other runs name it too. */
function spanKey(run: string, span: string): string {
  return `${run}/${span}`;
}

function spanIn(raw: string | undefined) {
  return raw === undefined || raw.length > 2_000
    ? { id: null, parent: null }
    : spanOf({ span: JSON.parse(raw) });
}

export function runStep(
  row: Pick<RunListRow, "id" | "agent" | "status" | "durationMs" | "cost" | "finishedAt">,
  place: Pick<Step, "parent" | "atMs" | "text" | "failure" | "folded">,
  nowMs: number,
): Step {
  const { id, agent, status, durationMs, cost, finishedAt } = row;
  const endMs = durationMs === null ? finishedAt ?? nowMs : place.atMs + durationMs;
  return {
    ...place,
    key: id,
    id,
    kind: "run",
    run: id,
    name: agent ?? "run",
    status,
    endMs: Math.max(place.atMs, endMs),
    durationMs,
    cost: cost.amount,
    preview: null,
    call: null,
    span: null,
  };
}
