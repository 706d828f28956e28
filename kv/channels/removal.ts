/**
 * Removes deliveries.
 *
 * @module
 */
import { type Delivery, ended, hasEnded } from "../../domain/channels/delivery.ts";
import type { Work, WorkHandler } from "../../domain/work/work.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { groupsOf } from "../base/limits.ts";
import { workKey } from "../work/store.ts";
import type { Store } from "../store.ts";
import {
  changeChannel,
  deliveryKeys,
  expiryAt,
  expiryRow,
  readDeliveries,
  storedRows,
} from "./delivery_rows.ts";

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
    for (const [channel, some] of Map.groupBy(waiting, (delivery) => delivery.channel)) {
      // A try may contain them: its result is then planned again without them.
      await changeChannel(store, team, channel, async (health) => {
        const left = await readDeliveries({ store, team }, some.map(({ id }) => id));
        const deletes = left.flatMap((delivery) => keysOf(team, delivery));
        return { result: undefined, change: { health, deletes } };
      });
    }
  }
}

function keysOf(team: TeamId, delivery: Delivery): Deno.KvKey[] {
  return [...deliveryKeys(team, delivery), expiryRow(team, delivery).key];
}

/** Creates the handler that removes old deliveries, and ends tests whose process ended. */
export function createDeliveryHandler(store: Store): WorkHandler {
  return {
    kind: "delivery",
    async look(rows, { nowMs }) {
      const [first] = rows;
      if (first === undefined) return [];
      const { team } = first;
      const deliveries = await readDeliveries({ store, team }, rows.map(({ name }) => name));
      const byId = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
      const isOld = ({ name }: Work) => {
        const delivery = byId.get(name);
        return delivery !== undefined && expiryAt(delivery) <= nowMs;
      };
      await removeDeliveries(store, team, rows.filter(isOld).map(({ name }) => name));
      for (const row of rows.filter((each) => !isOld(each))) {
        const delivery = byId.get(row.name);
        await store.writer.commit({
          team,
          deletes: [workKey(row)],
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

/** Returns whether the process of a test has ended before its result was stored. */
function isAbandoned({ message, leaseUntil, state }: Delivery, nowMs: number): boolean {
  return message.event === "channel.test" && state === "sending" && (leaseUntil ?? 0) <= nowMs;
}
