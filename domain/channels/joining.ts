/**
 * Decides which deliveries of a channel's queue are sent next, and together (decisions 82 and 85).
 *
 * @module
 */
import type { MessageEvent } from "./message.ts";
import { JOIN_MS } from "./new_delivery.ts";
import { JOINED_MAX } from "./sender.ts";

/** A waiting delivery of a channel. */
export interface QueueEntry {
  /** Identifier. */
  readonly id: string;
  /** Earliest time of its next try, unix milliseconds. */
  readonly at: number;
  /** Identifier of the incident; null for none. */
  readonly incident: string | null;
  /** Event of its message. */
  readonly event: MessageEvent;
  /** Delivery that must end first; null for none. */
  readonly after: string | null;
  /** True until the first try. */
  readonly isFirst: boolean;
}

/** The next step for the first entries of a queue. */
export interface QueuePlan {
  /** Deliveries to send in one request, in order; empty if none is due. */
  readonly group: readonly string[];
  /** Deliveries that are not sent, because their incidents opened and were resolved meanwhile. */
  readonly cancelled: readonly string[];
  /** Deliveries that wait for another one, with the time of their next look, unix milliseconds. */
  readonly moved: ReadonlyMap<string, number>;
}

/**
 * Plans the next try of a channel.
 *
 * @param entries first entries of the queue, in order
 * @param waitsUntil returns the time of the next try of a delivery, unix milliseconds; null once it
 * has ended. A delivery that waits for it is looked at after that time
 * @param joins true if the channel's type joins messages
 */
export function planQueue(
  entries: readonly QueueEntry[],
  waitsUntil: (id: string) => number | null,
  joins: boolean,
  nowMs: number,
): QueuePlan {
  const cancelled = joins ? overBeforeSent(entries) : new Set<string>();
  const moved = new Map<string, number>();
  const group: string[] = [];
  // Only the first try of a message joins others: a repeat must contain the same messages.
  let isOpen = true;
  for (const entry of entries) {
    if (!isOpen || cancelled.has(entry.id)) continue;
    const isDue = entry.at <= nowMs;
    const mayJoin = group.length > 0 && entry.isFirst && entry.at <= nowMs + JOIN_MS;
    if (group.length === 0 ? !isDue : !mayJoin) continue;
    const { after } = entry;
    const waits = after !== null && !group.includes(after) && !cancelled.has(after);
    const untilMs = waits ? waitsUntil(after) : null;
    if (untilMs !== null) {
      if (isDue) moved.set(entry.id, Math.max(untilMs, nowMs) + 1);
      continue;
    }
    group.push(entry.id);
    isOpen = joins && entry.isFirst && group.length < JOINED_MAX;
  }
  return { group, cancelled: [...cancelled], moved };
}

/** Returns the deliveries about incidents whose opening and end both wait for their first try. */
function overBeforeSent(entries: readonly QueueEntry[]): Set<string> {
  const first = entries.filter(({ isFirst, incident }) => isFirst && incident !== null);
  const incidentsOf = (event: MessageEvent) =>
    new Set(first.filter((entry) => entry.event === event).map(({ incident }) => incident));
  const opened = incidentsOf("incident.opened");
  const resolved = incidentsOf("incident.resolved");
  return new Set(
    first.filter(({ incident }) => opened.has(incident) && resolved.has(incident))
      .map(({ id }) => id),
  );
}
