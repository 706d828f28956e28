/**
 * Rows of deliveries.
 *
 * A delivery that waits has a row in its channel's queue, and a due row wakes the channel. So a
 * channel with many waiting deliveries costs other channels nothing. Due rows of one channel within
 * {@link DUE_STEP_MS} are one row.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import type { Delivery } from "../../domain/channels/delivery.ts";
import type { MessageEvent } from "../../domain/channels/message.ts";
import { DELIVERY_DAYS } from "../../domain/channels/store.ts";
import { keys } from "../base/keys.ts";
import { dueSet } from "../clock/due_rows.ts";
import type { KvSet } from "../writer/write.ts";

/** Times of due rows are multiples of it, milliseconds. */
const DUE_STEP_MS = 250;

/** Immutable fields of a delivery that lists are filtered by. */
export interface DeliveryLabels {
  /** Slug of the channel. */
  readonly channel: string;
  /** Identifier of the incident; null for a test. */
  readonly incident: string | null;
}

/** Fields of a waiting delivery that decide when it is sent. */
export interface QueuedDelivery {
  /** Identifier of the incident. */
  readonly incident: string | null;
  /** Event of its message. */
  readonly event: MessageEvent;
  /** Delivery that must end first; null for none. */
  readonly after: string | null;
  /** True until the first try. */
  readonly isFirst: boolean;
}

/** Returns the rows of new deliveries, for the commit of what they report. */
export function newDeliveryRows(team: TeamId, deliveries: readonly Delivery[]): KvSet[] {
  const rows = deliveries.flatMap((delivery) => [
    ...storedRows(team, delivery),
    ...queueRows(team, delivery),
    expiryRow(team, delivery),
  ]);
  // Deliveries to one channel share a due row.
  return [...new Map(rows.map((row) => [row.key.join(" "), row])).values()];
}

/** Returns the row of a new delivery and its place in lists. */
export function storedRows(team: TeamId, delivery: Delivery): KvSet[] {
  const { id, channel, createdAt, message: { incident } } = delivery;
  const labels: DeliveryLabels = { channel, incident: incident?.id ?? null };
  return [
    { key: keys.delivery(team, id), value: delivery },
    { key: keys.deliveryAt(team, createdAt, id), value: labels },
  ];
}

/** Returns the row of a waiting delivery in its channel's queue, and the row that wakes the channel. */
export function queueRows(team: TeamId, delivery: Delivery): KvSet[] {
  const { channel, nextAt, attempts } = delivery;
  if (nextAt === null) return [];
  return [...queuedRow(team, delivery, attempts === 0), wakeRow(team, channel, nextAt)];
}

/** Returns the rows of a delivery that waits on its own again, and joins no others. */
export function waitingRows(team: TeamId, delivery: Delivery): KvSet[] {
  return [
    { key: keys.delivery(team, delivery.id), value: delivery },
    ...queuedRow(team, delivery, false),
  ];
}

/** Returns the row of a waiting delivery in its channel's queue. */
export function queuedRow(team: TeamId, delivery: Delivery, isFirst: boolean): KvSet[] {
  const { id, channel, nextAt, message: { incident, event }, after } = delivery;
  if (nextAt === null) return [];
  const value: QueuedDelivery = { incident: incident?.id ?? null, event, after, isFirst };
  return [{ key: keys.queuedDelivery(team, channel, nextAt, id), value }];
}

/** Returns the row that wakes a channel. Write one with each change of its settings. */
export function wakeRow(team: TeamId, channel: string, atMs: number): KvSet {
  const stepMs = Math.ceil(atMs / DUE_STEP_MS) * DUE_STEP_MS;
  return { key: keys.dueChannel(stepMs, team, channel), value: true };
}

/** Returns such a row for the next look at a channel; one that is due does not wait for a step. */
export function lookRow(team: TeamId, channel: string, atMs: number, nowMs: number): KvSet {
  return wakeRow(team, channel, atMs > nowMs ? atMs : nowMs - nowMs % DUE_STEP_MS);
}

/** Returns the rows of a delivery that has ended; failed ones have a list of their own. */
export function endedRows(team: TeamId, delivery: Delivery): KvSet[] {
  const { id, channel, createdAt, message: { incident }, state } = delivery;
  const labels: DeliveryLabels = { channel, incident: incident?.id ?? null };
  return [
    { key: keys.delivery(team, id), value: delivery },
    ...(state === "dead" ? [{ key: keys.deadDelivery(team, createdAt, id), value: labels }] : []),
  ];
}

/** Returns the keys of a delivery that is removed. */
export function deliveryKeys(team: TeamId, delivery: Delivery): Deno.KvKey[] {
  const { id, channel, createdAt, nextAt } = delivery;
  return [
    keys.delivery(team, id),
    keys.deliveryAt(team, createdAt, id),
    keys.deadDelivery(team, createdAt, id),
    ...(nextAt === null ? [] : [keys.queuedDelivery(team, channel, nextAt, id)]),
  ];
}

/** Returns the due row of the clock at which a delivery is removed. */
export function expiryRow(team: TeamId, { id, createdAt }: Delivery): KvSet {
  return dueSet({ at: createdAt + DELIVERY_DAYS * 86_400_000, kind: "delivery", team, name: id });
}
