/**
 * The state of a channel's deliveries: when the next try may begin, and when the channel is broken
 * (decision 87).
 *
 * @module
 */
import type { WorkKind } from "../work/work.ts";
import { type ChannelHealth, type ChannelType, isChat } from "./channel.ts";
import { type Outcome, retryAfterMsOf } from "./delivery.ts";

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
