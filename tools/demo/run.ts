/** A run of the demo, and the part of it that has happened by an instant. */
import { parseInstant } from "../../domain/core/time.ts";
import type { ClientJson } from "../client.ts";

/** One request. */
export interface DemoCall {
  readonly path: string;
  readonly body: ClientJson;
}

/** Label of a run that shows something special. */
export type DemoScenario =
  | "failed"
  | "running"
  | "timeout"
  | "cancelled"
  | "out of order"
  | "delivered twice"
  | "unknown model"
  | "with children"
  | "started, then closed"
  | "never came back";

/** One run and the requests that send it, in the order they leave. */
export interface DemoRun {
  readonly id: string;
  readonly agent: string;
  readonly story: DemoScenario | null;
  /** Unix milliseconds. */
  readonly startMs: number;
  /** Unix milliseconds; null when the run never ends. */
  readonly endMs: number | null;
  readonly calls: readonly DemoCall[];
}

/** Cuts a run at an instant, unix milliseconds; null when it has not begun. */
export function upTo(run: DemoRun, nowMs: number): DemoRun | null {
  if (run.startMs > nowMs) return null;
  if (run.endMs !== null && run.endMs <= nowMs) return run;
  const calls = run.calls.flatMap((call) => partOf(call, nowMs));
  // A heartbeat that tells of a complete run leaves nothing before its end.
  if (calls.length === 0) return null;
  return { ...run, endMs: null, story: run.endMs === null ? run.story : "running", calls };
}

function partOf({ path, body }: DemoCall, nowMs: number): DemoCall[] {
  const isPast = (instant: unknown) => (parseInstant(String(instant)) ?? Infinity) <= nowMs;
  if (!Array.isArray(body.events)) {
    return isPast(body.finished_at ?? body.started_at) ? [{ path, body }] : [];
  }
  const events = body.events.filter(({ ts }: { readonly ts: string }) => isPast(ts));
  return events.length === 0 ? [] : [{ path, body: { events } }];
}
