/**
 * The schedule of tries: which deliveries of a channel's queue are sent next, and together
 * (decisions 82 and 85), and the state of a delivery after each try (decisions 86 and 87).
 *
 * @module
 */
import type { ChannelType } from "./channel.ts";
import type { Delivery, DeliveryTry } from "./delivery.ts";
import { JOINED_MAX, type SendResult } from "./sender.ts";

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

/** Milliseconds before each try but the first, of webhooks and of all other types. */
const DELAYS = {
  webhook: [
    5 * SECOND,
    ...[5, 30].map((minutes) => minutes * MINUTE),
    ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR),
  ],
  others: [
    ...[5, 30].map((seconds) => seconds * SECOND),
    ...[2, 10, 30].map((minutes) => minutes * MINUTE),
    ...[1, 2, 4, 8, 8].map((hours) => hours * HOUR),
  ],
} as const;

/** Largest part of a delay that is added to it or taken away. */
const JITTER = 0.1;

/** Longest wait that a receiver can ask for, milliseconds. */
export const RETRY_AFTER_MS_MAX: number = HOUR;

/** Tries that are kept of a delivery: the first and the latest ones. */
export const TRIES_KEPT = { first: 5, latest: 15 } as const;

/** One try and its result. */
export interface Outcome {
  /** Begin of the try, unix milliseconds. */
  readonly startMs: number;
  /** Its end, unix milliseconds. */
  readonly endMs: number;
  /** Result. */
  readonly result: SendResult;
}

/** Returns the milliseconds before each try but the first. */
export function delaysOf(type: ChannelType): readonly number[] {
  return type === "webhook" ? DELAYS.webhook : DELAYS.others;
}

/** Returns the milliseconds that a receiver asked to wait, within the limit; 0 for none. */
export function retryAfterMsOf({ retryAfterMs }: SendResult): number {
  return Math.min(Math.max(retryAfterMs ?? 0, 0), RETRY_AFTER_MS_MAX);
}

/** Returns whether a delivery gets no more tries, unless a user sends it again. */
export function hasEnded({ state }: Pick<Delivery, "state">): boolean {
  return state === "delivered" || state === "dead" || state === "cancelled";
}

/**
 * Returns a delivery after a try. A test gets no second one.
 *
 * @param random number from 0 (inclusive) to 1 (exclusive), for the jitter
 */
export function afterTry(delivery: Delivery, outcome: Outcome, random: number): Delivery {
  const { result, endMs } = outcome;
  const attempts = delivery.attempts + 1;
  const tried: Delivery = {
    ...delivery,
    attempts,
    tries: withTry(delivery.tries, tryOf(outcome)),
    leaseUntil: null,
    nextAt: null,
  };
  if (result.verdict === "delivered") return { ...tried, state: "delivered" };
  const isTest = delivery.message.event === "channel.test";
  const delayMs = isTest ? undefined : delaysOf(delivery.channelType)[attempts - 1];
  if (result.verdict !== "retry" || delayMs === undefined) return { ...tried, state: "dead" };
  const jittered = Math.round(delayMs * (1 - JITTER + 2 * JITTER * random));
  const waitMs = Math.max(jittered, retryAfterMsOf(result));
  return { ...tried, state: "retrying", nextAt: endMs + waitMs };
}

/** Returns the try of an outcome. */
export function tryOf({ startMs, endMs, result: { status, error, answer } }: Outcome): DeliveryTry {
  return { at: startMs, status, ms: Math.max(0, endMs - startMs), error, answer };
}

/** Returns a delivery that ends without a try. */
export function ended(delivery: Delivery, state: "dead" | "cancelled"): Delivery {
  return { ...delivery, state, nextAt: null, leaseUntil: null };
}

/** Returns a delivery whose try did not take place. */
export function untried(delivery: Delivery): Delivery {
  const state = delivery.attempts === 0 ? "waiting" : "retrying";
  return { ...delivery, state, leaseUntil: null };
}

/** Returns a delivery that has ended, to be sent again as if it were new. */
export function sentAgain(delivery: Delivery, nowMs: number): Delivery {
  return {
    ...delivery,
    state: "waiting",
    attempts: 0,
    nextAt: nowMs,
    after: null,
    leaseUntil: null,
  };
}

function withTry(tries: readonly DeliveryTry[], last: DeliveryTry): readonly DeliveryTry[] {
  const all = [...tries, last];
  const { first, latest } = TRIES_KEPT;
  return all.length <= first + latest ? all : [...all.slice(0, first), ...all.slice(-latest)];
}

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
