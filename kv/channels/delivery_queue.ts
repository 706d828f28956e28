/**
 * Reads of a channel's queue and of deliveries.
 *
 * @module
 */
import type { Delivery } from "../../domain/channels/delivery.ts";
import type { QueueEntry } from "../../domain/channels/plan_try.ts";
import { hasEnded } from "../../domain/channels/schedule.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keyParts, keys } from "../base/keys.ts";
import { getAll, listRows, type Store } from "../store.ts";
import type { QueuedDelivery } from "./delivery_rows.ts";

/** A channel, whose queue is read. */
export interface QueueOf {
  readonly store: Store;
  readonly team: TeamId;
  /** Slug. */
  readonly channel: string;
}

/** A row of a queue. */
export interface QueueRow extends QueueEntry {
  readonly key: Deno.KvKey;
}

/** Reads the first rows of a queue. */
export async function readQueue(
  { store, team, channel }: QueueOf,
  limit: number,
): Promise<QueueRow[]> {
  const prefix = keys.deliveryQueue(team, channel);
  const rows = await listRows<QueuedDelivery>(store, { prefix }, { limit });
  return rows.map(({ key, value: { after } }) => ({
    key,
    at: keyParts.position(key),
    id: keyParts.id(key),
    after,
  }));
}

/** Reads deliveries; removed ones are left out. */
export async function readDeliveries(
  { store, team }: Pick<QueueOf, "store" | "team">,
  ids: readonly string[],
): Promise<Delivery[]> {
  const entries = await getAll(store, ids.map((id) => keys.delivery(team, id)));
  return entries.flatMap(({ value }) => value === null ? [] : [value as Delivery]);
}

/**
 * Returns the times until which deliveries have to wait, by the delivery that must end before them.
 */
export async function readWaits(
  queue: QueueOf,
  rows: readonly QueueRow[],
  nowMs: number,
): Promise<(id: string) => number | null> {
  const ids = new Set(rows.flatMap(({ after }) => after === null ? [] : [after]));
  const earlier = await readDeliveries(queue, [...ids]);
  const waiting = earlier.filter((delivery) => !hasEnded(delivery));
  const times = new Map(waiting.map(({ id, nextAt }) => [id, nextAt ?? nowMs]));
  return (id) => times.get(id) ?? null;
}
