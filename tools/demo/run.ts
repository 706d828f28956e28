/** A run of the demo, and its part up to an instant. */
import { parseInstant } from "../../domain/core/time.ts";
import type { ClientJson } from "../client.ts";

export interface DemoCall {
  readonly path: string;
  readonly body: ClientJson;
}

/** Scenario that a run demonstrates. */
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

/** A run and its requests, in the order in which they are sent. */
export interface DemoRun {
  readonly id: string;
  readonly agent: string;
  readonly story: DemoScenario | null;
  /** Unix milliseconds. */
  readonly startMs: number;
  /** Unix milliseconds; null if the run never ends. */
  readonly endMs: number | null;
  readonly calls: readonly DemoCall[];
}

/** Cuts a run at an instant, unix milliseconds; null if the run has not started. */
export function upTo(run: DemoRun, nowMs: number): DemoRun | null {
  if (run.startMs > nowMs) return null;
  if (run.endMs !== null && run.endMs <= nowMs) return run;
  const calls = run.calls.flatMap((call) => callsUpTo(call, nowMs));
  // A heartbeat that reports a complete run has nothing to send before its end.
  if (calls.length === 0) return null;
  return { ...run, endMs: null, story: run.endMs === null ? run.story : "running", calls };
}

function callsUpTo({ path, body }: DemoCall, nowMs: number): DemoCall[] {
  const isPast = (instant: unknown) => (parseInstant(String(instant)) ?? Infinity) <= nowMs;
  if (!Array.isArray(body.events)) {
    return isPast(body.finished_at ?? body.started_at) ? [{ path, body }] : [];
  }
  const events = body.events.filter(({ ts }: { readonly ts: string }) => isPast(ts));
  return events.length === 0 ? [] : [{ path, body: { events } }];
}
