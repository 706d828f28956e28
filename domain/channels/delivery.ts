/**
 * Deliveries: messages on their way to channels (decisions 85 to 90).
 *
 * The commit of a change of an incident writes one delivery for each channel. It is sent at least
 * once, always with the same id, and after the earlier deliveries of its incident.
 *
 * @module
 */
import type { ChannelType } from "./channel.ts";
import type { Message } from "./message.ts";

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
