/**
 * Decides which deliveries of a channel's queue are sent next, and together (decisions 82 and 85).
 *
 * @module
 */
import type { ChannelType } from "./channel.ts";
import { JOINED_MAX } from "./sender.ts";

/** Types whose messages are sent together: all that the channel has queued, in one. */
const JOINING_TYPES: ReadonlySet<ChannelType> = new Set(["email", "slack", "mattermost"]);

/** Maximum messages of one try. */
export function triedAtOnce(type: ChannelType): number {
  return JOINING_TYPES.has(type) ? JOINED_MAX : 1;
}

/** A waiting delivery of a channel. */
export interface QueueEntry {
  /** Identifier. */
  readonly id: string;
  /** Earliest time of its next try, unix milliseconds. */
  readonly at: number;
  /** Delivery that must end first; null for none. */
  readonly after: string | null;
}

/** The next step for the first entries of a queue. */
export interface TryPlan {
  /** Deliveries to send in one request, in order; empty if none is due. */
  readonly group: readonly string[];
  /** Deliveries that wait for another one, with the time of their next look, unix milliseconds. */
  readonly moved: ReadonlyMap<string, number>;
}

/**
 * Plans the next try of a channel.
 *
 * @param entries first entries of the queue, in order
 * @param waitsUntil returns the time of the next try of a delivery, unix milliseconds; null once it
 * has ended. A delivery that waits for it is looked at after that time
 * @param max maximum deliveries of the try
 */
export function planTry(
  entries: readonly QueueEntry[],
  waitsUntil: (id: string) => number | null,
  max: number,
  nowMs: number,
): TryPlan {
  const moved = new Map<string, number>();
  const group: string[] = [];
  for (const { id, at, after } of entries) {
    if (at > nowMs || group.length === max) break;
    const untilMs = after === null || group.includes(after) ? null : waitsUntil(after);
    if (untilMs === null) group.push(id);
    else moved.set(id, Math.max(untilMs, nowMs) + 1);
  }
  return { group, moved };
}
