/**
 * Rows of a channel's queue.
 *
 * @module
 */
import type { Delivery } from "../../domain/channels/delivery.ts";
import type { QueueEntry, QueuePlan } from "../../domain/channels/joining.ts";
import { ended, hasEnded } from "../../domain/channels/schedule.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keyParts, keys } from "../base/keys.ts";
import { getAll, listRows, type Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";
import { endedRows, type QueuedDelivery, queuedRow } from "./delivery_rows.ts";

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
  return rows.map(({ key, value }) => ({
    ...value,
    key,
    at: keyParts.position(key),
    id: keyParts.id(key),
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

/** Reads deliveries and those that are joined to them. */
export async function readWithJoined(queue: QueueOf, ids: readonly string[]): Promise<Delivery[]> {
  const leaders = await readDeliveries(queue, ids);
  const joined = await readDeliveries(queue, leaders.flatMap((leader) => leader.joined));
  return [...leaders, ...joined.filter((delivery) => !hasEnded(delivery))];
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

/** Rows of a commit, and the deliveries that end with it. */
export interface QueueChanges {
  readonly ended: readonly Delivery[];
  readonly sets: readonly KvSet[];
  readonly deletes: readonly Deno.KvKey[];
}

/** Returns the rows of the deliveries that a plan cancels, or moves after another one. */
export async function changesOf(
  queue: QueueOf,
  rows: readonly QueueRow[],
  { cancelled, moved }: QueuePlan,
): Promise<QueueChanges> {
  const { team } = queue;
  const over = (await readWithJoined(queue, cancelled))
    .map((delivery) => ended(delivery, "cancelled"));
  const later = (await readDeliveries(queue, [...moved.keys()]))
    .map((delivery) => ({ ...delivery, nextAt: moved.get(delivery.id) ?? delivery.nextAt }));
  const gone = rows.filter(({ id }) => cancelled.includes(id) || moved.has(id));
  return {
    ended: over,
    sets: [
      ...over.flatMap((delivery) => endedRows(team, delivery)),
      ...later.flatMap((delivery) => [
        { key: keys.delivery(team, delivery.id), value: delivery },
        ...queuedRow(team, delivery, rows.find(({ id }) => id === delivery.id)?.isFirst ?? false),
      ]),
    ],
    deletes: gone.map(({ key }) => key),
  };
}

/** Returns the times of the deliveries that a plan leaves in the queue. */
export function waitingTimes(
  rows: readonly QueueRow[],
  { cancelled, moved, group }: QueuePlan,
): number[] {
  return rows.filter(({ id }) => !cancelled.includes(id) && !group.includes(id))
    .map(({ id, at }) => moved.get(id) ?? at);
}
