/** Events of runs that are judged. */
import type { EventId } from "../../../domain/core/ids.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { type EventFacts, factsOf, type RunEvent } from "../../../domain/runs/event.ts";
import { eventId } from "./requests.ts";
import { NOON } from "../harness/harness.ts";

/** Returns event number `n` of a type. */
export function anEventOf(
  n: number,
  type: string,
  data: Readonly<Record<string, unknown>>,
  ts = NOON + n,
): RunEvent {
  const facts: EventFacts = factsOf(type, data, null);
  return { id: eventId(n) as EventId, type, ts, data: rawOf(data), facts };
}

export function aTool(n: number, name: string, fields: Record<string, unknown> = {}, ts?: number) {
  return anEventOf(n, "tool_call", { name, ...fields }, ts);
}

export function aScore(n: number, name: string, value: number, ts?: number): RunEvent {
  return { ...anEventOf(n, "score", { name, value }, ts), score: [name, value] };
}
