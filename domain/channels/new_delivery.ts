/**
 * Creates deliveries.
 *
 * @module
 */
import type { ChannelType } from "./channel.ts";
import type { Delivery } from "./delivery.ts";
import type { Message } from "./message.ts";

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
