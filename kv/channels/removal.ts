/**
 * Removes deliveries.
 *
 * @module
 */
import type { Delivery } from "../../domain/channels/delivery.ts";
import type { DueHandler, DueRow } from "../../domain/clock/due.ts";
import { ended, hasEnded } from "../../domain/channels/schedule.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { groupsOf } from "../base/groups.ts";
import { keys } from "../base/keys.ts";
import { dueKey } from "../clock/due_rows.ts";
import type { Store } from "../store.ts";
import { deliveryKeys, expiryRow, queueRows, storedRows } from "./delivery_rows.ts";
import { changeChannel } from "./health.ts";
import { readDeliveries } from "./queue_rows.ts";

/** Deliveries that one commit removes. */
const REMOVED_PER_COMMIT = 50;

/** Removes deliveries and all their rows, also ones that have not been sent. */
export async function removeDeliveries(
  store: Store,
  team: TeamId,
  ids: readonly string[],
): Promise<void> {
  for (const group of groupsOf(ids, REMOVED_PER_COMMIT)) {
    const deliveries = await readDeliveries({ store, team }, group);
    const over = deliveries.filter(hasEnded).flatMap((delivery) => keysOf(team, delivery));
    if (over.length > 0) await store.writer.commit({ team, deletes: over });
    const waiting = deliveries.filter((delivery) => !hasEnded(delivery));
    // Those that were joined to a removed one are written, so such a commit removes one alone.
    const groups = Map.groupBy(
      waiting,
      ({ id, channel, joined }) => joined.length > 0 ? id : `of ${channel}`,
    );
    for (const [first, ...others] of groups.values()) {
      if (first === undefined) continue;
      const some = [first, ...others].map(({ id }) => id);
      await removeWaiting(store, team, first.channel, some, group);
    }
  }
}

/** Removes deliveries that a try may contain: its result is then planned again without them. */
async function removeWaiting(
  store: Store,
  team: TeamId,
  channel: string,
  ids: readonly string[],
  removed: readonly string[],
): Promise<void> {
  await changeChannel(store, team, channel, async (health) => {
    const deliveries = await readDeliveries({ store, team }, ids);
    // Those that were joined to a removed one are sent on their own.
    const joined = deliveries.flatMap((delivery) => delivery.joined)
      .filter((id) => !removed.includes(id));
    const left = (await readDeliveries({ store, team }, joined))
      .filter((delivery) => !hasEnded(delivery));
    return {
      result: undefined,
      change: {
        health,
        sets: left.flatMap((value) => [
          { key: keys.delivery(team, value.id), value },
          ...queueRows(team, value),
        ]),
        deletes: deliveries.flatMap((delivery) => keysOf(team, delivery)),
      },
    };
  });
}

function keysOf(team: TeamId, delivery: Delivery): Deno.KvKey[] {
  return [...deliveryKeys(team, delivery), expiryRow(team, delivery).key];
}

/** Creates the handler that removes old deliveries, and ends tests whose process ended. */
export function createDeliveryHandler(store: Store): DueHandler {
  return {
    kind: "delivery",
    async look(rows, { nowMs }) {
      const [first] = rows;
      if (first === undefined) return [];
      const { team } = first;
      const deliveries = await readDeliveries({ store, team }, rows.map(({ name }) => name));
      const byId = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
      const isOld = ({ name }: DueRow) => {
        const delivery = byId.get(name);
        return delivery !== undefined && expiryAt(team, delivery) <= nowMs;
      };
      await removeDeliveries(store, team, rows.filter(isOld).map(({ name }) => name));
      for (const row of rows.filter((each) => !isOld(each))) {
        const delivery = byId.get(row.name);
        await store.writer.commit({
          team,
          deletes: [dueKey(row)],
          sets: delivery === undefined ? [] : [
            ...isAbandoned(delivery, nowMs) ? storedRows(team, ended(delivery, "dead")) : [],
            expiryRow(team, delivery),
          ],
        });
      }
      return [];
    },
  };
}

function expiryAt(team: TeamId, delivery: Delivery): number {
  return Number(expiryRow(team, delivery).key[1]);
}

/** Returns whether the process of a test has ended before its result was stored. */
function isAbandoned({ message, leaseUntil, state }: Delivery, nowMs: number): boolean {
  return message.event === "channel.test" && state === "sending" && (leaseUntil ?? 0) <= nowMs;
}
