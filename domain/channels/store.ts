/**
 * The contracts of the store of channels and deliveries. Methods reject with `StorageUnavailable`
 * when the store fails.
 *
 * @module
 */
import type { ConfigObject, ConfigStore } from "../config/objects.ts";
import type { Parsed } from "../core/errors.ts";
import type { PageBounds } from "../core/query.ts";
import type { MadeBy, Team } from "../teams/team.ts";
import type { ChannelHealth, ChannelSettings, OpenedChannelSettings } from "./channel.ts";
import type { Delivery, DeliveryState, DeliveryTry } from "./delivery.ts";

/** A channel as stored. */
export type Channel = ConfigObject<ChannelSettings>;

/**
 * Stores channels. A secret that a `PUT` leaves empty stays as it is; a webhook's that was never set
 * is generated. An address that may not be called is refused.
 */
export interface ChannelStore extends ConfigStore<ChannelSettings, OpenedChannelSettings> {
  /** Returns the state of channels, by slug. */
  health(team: Team, slugs: readonly string[]): Promise<ReadonlyMap<string, ChannelHealth>>;
  /**
   * Replaces the secret of a webhook; both sign until the end of the overlap.
   *
   * @param overlapHours 0 to 168
   * @returns the new secret, readable only here; null if the team has no such webhook. Refused
   * without a key to seal it with
   */
  rotate(
    team: Team,
    slug: string,
    overlapHours: number,
    made: MadeBy,
  ): Promise<Parsed<{ readonly channel: Channel; readonly secret: string }> | null>;
  /** Opens the secrets of a channel, to send; null if a key is missing. */
  open(team: Team, channel: Channel): Promise<OpenedChannelSettings | null>;
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

/** A page of deliveries, latest first. */
export interface DeliveryPage {
  /** Deliveries, in order. */
  readonly deliveries: readonly Delivery[];
  /** Position before which the next page starts; null at the end. */
  readonly next: DeliveryPlace | null;
}

/** Days for which deliveries are kept. */
export const DELIVERY_DAYS = 30;

/** Deliveries per page. */
export const DELIVERIES_PER_PAGE = { default: 100, max: 500 } as const;

/** Tests of channels per minute and team. */
export const CHANNEL_TESTS_PER_MINUTE = 10;

/** Reads deliveries, and sends them again. */
export interface DeliveryStore {
  /** Returns a page. */
  list(team: Team, query: DeliveriesQuery): Promise<DeliveryPage>;
  /** Reads a delivery; null if there is none. */
  read(team: Team, id: string): Promise<Delivery | null>;
  /** Sends a delivery that has ended again, with the same id; null if there is none. */
  resend(team: Team, id: string, made: MadeBy): Promise<Delivery | null>;
}

/** Sends one test message to a channel and notes it as a delivery. */
export interface ChannelTester {
  /**
   * Sends a test within 15 seconds, without a retry.
   *
   * @returns the try; `limited` beyond {@link CHANNEL_TESTS_PER_MINUTE}; null if there is no such
   * channel
   */
  test(team: Team, slug: string, made: MadeBy): Promise<DeliveryTry | "limited" | null>;
}
