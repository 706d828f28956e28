/** The steps of a trace: runs and their events, with what a row of the waterfall shows. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { ExplainedCall } from "../../../domain/runs/explain_cost.ts";
import type { PositionedEvent } from "../../../domain/runs/event_page.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import { spanOf, type TraceStep } from "../../../domain/runs/trace.ts";
import { type EventPreview, previewOf } from "./event_preview.ts";

/** Kinds of steps: each has its icon and its form of bar. */
export type StepKind = "run" | EventPreview["kind"];

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
}

/** A run of the trace with those of its events that were read. */
export interface Branch {
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
    };
  });
}

/** Returns the key of a span, as other runs name it too. */
export function spanKey(run: string, span: string): string {
  return `${run}/${span}`;
}

function spanIn(raw: string | undefined) {
  return raw === undefined || raw.length > 2_000
    ? { id: null, parent: null }
    : spanOf({ span: JSON.parse(raw) });
}

/** Returns the step of a run. */
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
  };
}

/** Returns whether a run ended without success. */
export function isFailure(status: RunStatus | null): boolean {
  return status === "failed" || status === "timeout";
}
