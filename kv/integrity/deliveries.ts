/**
 * Verifies that each delivery is in the lists that its state requires, and in no other.
 *
 * @module
 */
import type { Delivery } from "../../domain/channels/delivery.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keyParts, keys } from "../base/keys.ts";
import { eachRow, type Store } from "../store.ts";
import { keyText } from "../writer/group.ts";
import { type Mismatch, NONE } from "./mismatch.ts";

/** Verifies the deliveries of a team. */
export async function verifyDeliveries(store: Store, team: TeamId): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  const at = await namesIn(store, keys.deliveriesAt(team, 0, Infinity));
  const dead = await namesIn(store, { prefix: keys.deadDeliveries(team) });
  for await (const { key, value } of eachRow<Delivery>(store, { prefix: keys.deliveries(team) })) {
    const id = keyParts.id(key);
    const what = `delivery ${id}`;
    if (value?.id !== id || !Number.isSafeInteger(value.createdAt)) {
      mismatches.push({ what, expected: "readable", found: "not readable" });
      continue;
    }
    const { createdAt, state, message } = value;
    if (!at.delete(keyText(keys.deliveryAt(team, createdAt, id)))) {
      mismatches.push({ what: `place of ${what}`, expected: "stored", found: NONE });
    }
    const isListed = dead.delete(keyText(keys.deadDelivery(team, createdAt, id)));
    // A test is none of the messages that were lost.
    if (isListed === (state === "dead" && message.event !== "channel.test")) continue;
    const [expected, found] = isListed ? [NONE, "stored"] : ["stored", NONE];
    mismatches.push({ what: `${what} among failed ones`, expected, found });
  }
  for (const name of [...at, ...dead]) {
    mismatches.push({ what: `place of a delivery: ${name}`, expected: NONE, found: "stored" });
  }
  return mismatches;
}

async function namesIn(store: Store, range: Deno.KvListSelector): Promise<Set<string>> {
  return new Set(await Array.fromAsync(eachRow(store, range), ({ key }) => keyText(key)));
}
