/** Batches of events whose payloads compress badly. */
import { noise } from "../harness/temp_store.ts";
import { anEvent, eventId } from "./requests.ts";

/** A batch to send, and the ids of its events in order. */
interface LargeBatch {
  readonly body: string;
  readonly ids: readonly string[];
}

/**
 * Creates a body of `POST /v1/runs/{id}/events`.
 *
 * @param first number of its first event
 * @param count number of its events
 * @param bytes of all payloads together
 */
export function aLargeBatch(first: number, count: number, bytes: number): LargeBatch {
  const numbers = Array.from({ length: count }, (_, i) => first + i);
  const events = numbers.map((n) =>
    anEvent(n, { data: { text: noise(Math.floor(bytes / count), n + 1) } })
  );
  return { body: JSON.stringify({ events }), ids: numbers.map((n) => eventId(n)) };
}
