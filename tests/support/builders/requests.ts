/** Valid requests to start from, and ids that are easy to tell apart. */
import { NOON } from "../harness/harness.ts";

/** Run id number `n`. */
export function runId(n: number, region = "eu"): string {
  return `run_${region}_${n.toString(16).padStart(32, "0")}`;
}

/** Event id number `n`. */
export function eventId(n: number, region = "eu"): string {
  return `evt_${region}_${n.toString(16).padStart(32, "0")}`;
}

/** An instant some milliseconds after noon, as text. */
export function at(ms = 0): string {
  return new Date(NOON + ms).toISOString();
}

/** A body of `POST /v1/runs`. */
export function aRun(n: number, fields: Record<string, unknown> = {}) {
  return { id: runId(n), agent: "researcher", started_at: at(), ...fields };
}

/** An item of `events`. */
export function anEvent(n: number, fields: Record<string, unknown> = {}) {
  return { id: eventId(n), type: "log", ts: at(n), data: { message: `line ${n}` }, ...fields };
}

/** Events `from` to `to`, both included. */
export function events(from: number, to: number): ReturnType<typeof anEvent>[] {
  return Array.from({ length: to - from + 1 }, (_, i) => anEvent(from + i));
}

/** A body of `/finish`. */
export function aFinish(fields: Record<string, unknown> = {}) {
  return { status: "success", finished_at: at(5_000), ...fields };
}

/** A body of `POST /v1/heartbeats`. */
export function aHeartbeat(n: number, fields: Record<string, unknown> = {}) {
  return { id: runId(n), agent: "nightly", ...fields };
}

/** Score id number `n`. */
export function scoreId(n: number): string {
  return `scr_eu_${n.toString(16).padStart(32, "0")}`;
}

/** A body of `POST /v1/runs/{id}/scores`. */
export function aScore(n: number, fields: Record<string, unknown> = {}) {
  return { id: scoreId(n), name: "quality", value: n / 8, ...fields };
}
