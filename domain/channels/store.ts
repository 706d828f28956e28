/**
 * Channels as stored, queries for deliveries, and their places in lists.
 *
 * @module
 */
import type { ConfigObject } from "../config/objects.ts";
import type { PageBounds } from "../core/query.ts";
import type { ChannelSettings } from "./channel.ts";
import type { DeliveryState } from "./delivery.ts";

/** A channel as stored. */
export type Channel = ConfigObject<ChannelSettings>;

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
