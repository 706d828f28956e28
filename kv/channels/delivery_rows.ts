/**
 * Rows of deliveries.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { Delivery } from "../../domain/channels/delivery.ts";
import { keys } from "../base/keys.ts";
import type { KvSet } from "../writer/write.ts";

/** Returns the rows of new deliveries, for the commit of what they report. */
export function newDeliveryRows(team: TeamId, deliveries: readonly Delivery[]): KvSet[] {
  return deliveries.map((delivery) => ({ key: keys.delivery(team, delivery.id), value: delivery }));
}
