/**
 * Deliveries: messages on their way to channels (decisions 85 to 90).
 *
 * The commit of a change of an incident writes one delivery for each channel. It is sent at least
 * once, always with the same id, and after the earlier deliveries of its incident. The schedule of
 * its tries is here as well, and the state of a channel: when its next try may begin, and when it is
 * broken (decision 87). Queries for deliveries.
 *
 * @module
 */
import { type ChannelHealth, type ChannelType, isChat } from "./channel.ts";
import type { Message } from "./message.ts";
import { JOINED_MAX, type SendResult } from "./sender.ts";
import type { WorkKind } from "../work/work.ts";
import type { PageBounds } from "../core/query.ts";

/** States of a delivery. */
export const DELIVERY_STATES = [
  "waiting",
  "sending",
  "retrying",
  "delivered",
  "dead",
  "cancelled",
] as const;

/**
 * One of {@link DELIVERY_STATES}: `dead`: given up; `cancelled`: the channel was deleted or disabled,
 * or the incident was resolved before the message was sent.
 */
export type DeliveryState = typeof DELIVERY_STATES[number];

/** One try of a delivery. */
export interface DeliveryTry {
  /** Begin, unix milliseconds. */
  readonly at: number;
  /** HTTP or SMTP status of the answer; null without an answer. */
  readonly status: number | null;
  /** Duration in milliseconds. */
  readonly ms: number;
  /** Reason of the failure; null for success. */
  readonly error: string | null;
  /** First 256 characters of an answer from a public address; null for none. For `admin` alone. */
  readonly answer: string | null;
}

/** A delivery as stored. */
export interface Delivery {
  /** Identifier, `whd_…`; the same for all tries. */
  readonly id: string;
  /** Slug of the channel. */
  readonly channel: string;
  /** Type of the channel. */
  readonly channelType: ChannelType;
  /** The message. */
  readonly message: Message;
  /** Creation, unix milliseconds. */
  readonly createdAt: number;
  /** State. */
  readonly state: DeliveryState;
  /** Tries, in order; the first and the latest of many. */
  readonly tries: readonly DeliveryTry[];
  /** Number of tries since it was created or last sent again. */
  readonly attempts: number;
  /** Earliest time of the next try, unix milliseconds; null at the end. */
  readonly nextAt: number | null;
  /** Delivery of the same channel and incident that must end first; null for none. */
  readonly after: string | null;
  /** End of the lease of a try, unix milliseconds; null while none is under way. */
  readonly leaseUntil: number | null;
}

/**
 * Creates a delivery that waits for its first try.
 *
 * @param id identifier, `whd_…`
 * @param after delivery to the same channel about the same incident that must end first; null for
 * none
 */
export function newDelivery(
  id: string,
  channel: { readonly slug: string; readonly type: ChannelType },
  message: Message,
  after: string | null,
): Delivery {
  return {
    id,
    channel: channel.slug,
    channelType: channel.type,
    message,
    createdAt: message.at,
    state: "waiting",
    tries: [],
    attempts: 0,
    nextAt: message.at,
    after,
    leaseUntil: null,
  };
}

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];

/** Milliseconds between the times at which a channel wakes: deliveries of one step share a row. */
export const WAKE_STEP_MS = 250;

/** Returns the first time from an instant on at which a channel wakes. */
export function nextStep(atMs: number): number {
  return Math.ceil(atMs / WAKE_STEP_MS) * WAKE_STEP_MS;
}

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

/** Maximum messages of one try: mail and chats take all that the channel has queued. */
export function triedAtOnce(type: ChannelType): number {
  return type === "email" || isChat(type) ? JOINED_MAX : 1;
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
  /** Deliveries that wait for another one, with the time of their next turn, unix milliseconds. */
  readonly moved: ReadonlyMap<string, number>;
}

/**
 * Plans the next try of a channel.
 *
 * @param entries first entries of the queue, in order
 * @param waitsUntil returns the time of the next try of a delivery, unix milliseconds; null once it
 * has ended. A delivery that waits for it gets its turn after that time
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

/** Milliseconds of failures alone after which a channel is broken. */
export const BROKEN_MS = 5 * 86_400_000;

/**
 * Longest time between two failures of one series, milliseconds: a little more than the longest
 * delay between two tries. After a longer one, an old failure does not count.
 */
const SERIES_GAP_MS = 27 * 3_600_000;

/** Milliseconds between the begins of two tries of a chat channel. */
const CHAT_PAUSE_MS = 1_000;

/**
 * Milliseconds without a try after a failure: each doubles the previous one. So a dead receiver with
 * many waiting deliveries costs one try a minute, and a single delivery keeps its schedule.
 */
const FAILURE_PAUSE_MS = { first: 1_000, max: 60_000 } as const;

/** Milliseconds of a try after which its channel counts as slow. */
const SLOW_MS = 2_000;

/** Lease of a try, milliseconds: longer than any try. */
export const CLAIM_MS = 60_000;

/** Kinds of work that send the messages of a channel. */
export type ChannelWork = Extract<WorkKind, "channel" | "channel_slow">;

/** Returns the kind of the next work of a channel: slow ones share few slots. */
export function channelWork({ isSlow }: Pick<StoredHealth, "isSlow">): ChannelWork {
  return isSlow ? "channel_slow" : "channel";
}

/** A try under way. */
export interface TryClaim {
  /** Unique name of the claim. */
  readonly name: string;
  /** End of the lease, unix milliseconds. */
  readonly until: number;
  /** Kind of the row that ends the lease. */
  readonly kind: ChannelWork;
}

/** State of a channel's deliveries as stored. */
export interface StoredHealth extends ChannelHealth {
  /** Failures since the last success. */
  readonly failures: number;
  /** Last failure, unix milliseconds; null for none. */
  readonly failedAt: number | null;
  /** Time before which no try begins, unix milliseconds. */
  readonly notBefore: number;
  /** True if the last try took long or failed: such channels share few slots. */
  readonly isSlow: boolean;
  /** The try under way; null for none. */
  readonly claim: TryClaim | null;
}

/** State of a channel without a try. */
export const NEW_HEALTH: StoredHealth = {
  state: "ok",
  lastOkAt: null,
  failingSince: null,
  lastError: null,
  failures: 0,
  failedAt: null,
  notBefore: 0,
  isSlow: false,
  claim: null,
};

/** Returns whether a try is under way. A lease that is too long was taken before the clock was set back. */
export function isClaimed({ claim }: StoredHealth, nowMs: number): boolean {
  return claim !== null && claim.until > nowMs && claim.until <= nowMs + CLAIM_MS;
}

/** Returns whether nothing is sent to a channel until it is repaired. */
export function isBlocked({ state }: Pick<ChannelHealth, "state">): boolean {
  return state === "broken" || state === "needs_secret";
}

/** Returns the state after a try of a delivery. */
export function afterOutcome(
  health: StoredHealth,
  type: ChannelType,
  outcome: Outcome,
): StoredHealth {
  const { startMs, endMs, result } = outcome;
  const paceMs = isChat(type) ? startMs + CHAT_PAUSE_MS : 0;
  const tried = { ...health, claim: null, notBefore: paceMs };
  if (result.verdict === "delivered") {
    return { ...withSuccess(tried, endMs), isSlow: endMs - startMs > SLOW_MS };
  }
  const isSeries = health.failedAt !== null && endMs - health.failedAt <= SERIES_GAP_MS;
  const failingSince = isSeries ? health.failingSince ?? startMs : startMs;
  const isBroken = result.verdict === "gone" || endMs - failingSince >= BROKEN_MS;
  const failed: StoredHealth = {
    ...tried,
    state: isBroken ? "broken" : "failing",
    failingSince,
    lastError: result.error,
    failures: health.failures + 1,
    failedAt: endMs,
    isSlow: true,
  };
  // The receiver works, and refuses only this delivery.
  if (result.verdict === "final") return failed;
  const { first, max } = FAILURE_PAUSE_MS;
  const pauseMs = Math.min(max, first * 2 ** Math.min(health.failures, 10));
  const notBefore = Math.max(paceMs, endMs + Math.max(pauseMs, retryAfterMsOf(result)));
  return { ...failed, notBefore };
}

/** Returns the state after a success, which also repairs a broken channel. */
export function withSuccess(health: StoredHealth, atMs: number): StoredHealth {
  return {
    ...health,
    state: "ok",
    lastOkAt: atMs,
    failingSince: null,
    lastError: null,
    failures: 0,
    failedAt: null,
    isSlow: false,
  };
}

/** A query for deliveries, latest first. */
export interface DeliveriesQuery extends PageBounds<DeliveryPlace> {
  /** Slug of the channel; null for all. */
  readonly channel: string | null;
  /** State; null for all. */
  readonly state: DeliveryState | null;
  /** Identifier of the incident; null for all. */
  readonly incident: string | null;
  /** Earliest creation, inclusive, unix milliseconds. */
  readonly fromMs: number;
}

/** Position of a delivery in lists. */
export interface DeliveryPlace {
  /** Creation, unix milliseconds. */
  readonly at: number;
  /** Identifier. */
  readonly id: string;
}

/** Days for which deliveries are kept. */
export const DELIVERY_DAYS = 30;

/** Deliveries per page. */
export const DELIVERIES_PER_PAGE = { default: 100, max: 500 } as const;

/** Tests of channels per minute and team. */
export const CHANNEL_TESTS_PER_MINUTE = 10;
