/**
 * The contract of the queue of deliveries, as used by the job that sends them.
 *
 * A channel has one try at a time. The try is claimed in a commit before anything leaves, and its
 * result is stored in another one. If that commit never happens, the claim ends after 60 s, and the
 * same messages are sent again with the same id (decision 85).
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import type { Team } from "../teams/team.ts";
import type { ChannelType } from "./channel.ts";
import type { Delivery, DeliveryState } from "./delivery.ts";
import type { OwnerReport } from "./health.ts";
import type { Outcome } from "./schedule.ts";
import type { Channel } from "./store.ts";

/** A channel whose time has come. */
export interface DueChannel {
  /** The team. */
  readonly team: TeamId;
  /** Slug of the channel. */
  readonly channel: string;
  /** Times of its due rows, unix milliseconds. */
  readonly times: readonly number[];
}

/** A claimed try. */
export interface Claim {
  /** Unique name of the claim. */
  readonly name: string;
  /** The team. */
  readonly team: Team;
  /** The channel. */
  readonly channel: Channel;
  /** Deliveries to send in one request, in order. The id of the first one is the id of the request. */
  readonly deliveries: readonly Delivery[];
}

/** A report to the owner of a team about a channel that does not work. */
export interface ReportClaim {
  /** Unique name of the claim. */
  readonly name: string;
  /** The team. */
  readonly team: Team;
  /** Slug of the channel. */
  readonly slug: string;
  /** The report. */
  readonly report: OwnerReport;
}

/**
 * Result of a look at a due channel; `slow`: it must wait until fewer slow channels are under way. A
 * channel is slow if its last try took long or failed.
 */
export type Look =
  | { readonly kind: "try"; readonly claim: Claim; readonly isSlow: boolean }
  | { readonly kind: "report"; readonly claim: ReportClaim }
  | { readonly kind: "nothing" | "slow" };

/** A change of deliveries, for metrics. */
export interface DeliveryCount {
  /** Type of the channel. */
  readonly type: ChannelType;
  /** New state of a delivery. */
  readonly state: DeliveryState;
}

/** The queue of all teams. Its methods reject with `StorageUnavailable` when the store fails. */
export interface DeliveryQueue {
  /** Returns channels that are due, at most `max`. Teams take turns. */
  due(nowMs: number, max: number): Promise<readonly DueChannel[]>;
  /** Returns the time of the next due row, unix milliseconds; null if there is none. */
  nextDueMs(): Promise<number | null>;
  /**
   * Looks at a due channel: claims its next try, or files the next look.
   *
   * @param canBeSlow false to claim no try of a slow channel
   */
  look(due: DueChannel, nowMs: number, canBeSlow: boolean): Promise<Look>;
  /** Postpones the look at a channel. */
  postpone(due: DueChannel, untilMs: number): Promise<void>;
  /** Stores the result of a try, unless the claim has ended. */
  settle(claim: Claim, outcome: Outcome): Promise<void>;
  /** Ends a claim without a try: the deliveries wait as before. */
  release(claim: Claim, nowMs: number): Promise<void>;
  /** Ends a claim because the secrets of the channel cannot be opened. */
  needSecret(claim: Claim, nowMs: number): Promise<void>;
  /** Stores the result of a report to the owner. */
  settleReport(claim: ReportClaim, isSent: boolean, nowMs: number): Promise<void>;
}
