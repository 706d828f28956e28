/** Valid sample requests, and ids that are easy to distinguish. */
import { assert } from "@std/assert";
import { type Answer, NOON } from "../harness/harness.ts";

/** Returns the answer of a call that must succeed. */
export async function accepted(sent: Promise<Answer>): Promise<Answer> {
  const answer = await sent;
  assert(answer.status >= 200 && answer.status < 300, `${answer.status} ${answer.text}`);
  return answer;
}

export function runId(n: number, region = "eu"): string {
  return `run_${region}_${n.toString(16).padStart(32, "0")}`;
}

export function eventId(n: number, region = "eu"): string {
  return `evt_${region}_${n.toString(16).padStart(32, "0")}`;
}

/** Returns an instant `ms` after noon, as text. */
export function at(ms = 0): string {
  return new Date(NOON + ms).toISOString();
}

/** Creates a body of `POST /v1/runs`. */
export function aRun(n: number, fields: Record<string, unknown> = {}) {
  return { id: runId(n), agent: "researcher", started_at: at(), ...fields };
}

/** Creates an item of `events`. */
export function anEvent(n: number, fields: Record<string, unknown> = {}) {
  return { id: eventId(n), type: "log", ts: at(n), data: { message: `line ${n}` }, ...fields };
}

export function events(from: number, to: number): ReturnType<typeof anEvent>[] {
  return Array.from({ length: to - from + 1 }, (_, i) => anEvent(from + i));
}

/** Creates a body of `/finish`. */
export function aFinish(fields: Record<string, unknown> = {}) {
  return { status: "success", finished_at: at(5_000), ...fields };
}

/** Creates a body of `POST /v1/heartbeats`. */
export function aHeartbeat(n: number, fields: Record<string, unknown> = {}) {
  return { id: runId(n), agent: "nightly", ...fields };
}

export function scoreId(n: number): string {
  return `scr_eu_${n.toString(16).padStart(32, "0")}`;
}

/** Creates a body of `POST /v1/runs/{id}/scores`. */
export function aScore(n: number, fields: Record<string, unknown> = {}) {
  return { id: scoreId(n), name: "quality", value: n / 8, ...fields };
}
