/**
 * Changes what stored messages say about their incidents, when data of a run or a customer is
 * removed (decision 57).
 *
 * @module
 */
import type { Delivery } from "../../domain/channels/delivery.ts";
import { NEW_HEALTH } from "../../domain/channels/health.ts";
import type { IncidentFacts } from "../../domain/channels/message.ts";
import { hasEnded } from "../../domain/channels/schedule.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getEntry, type Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";

/**
 * Changes the messages about an incident.
 *
 * @param latest the latest delivery to each channel: the earlier ones are found from it
 * @param change returns its argument if nothing changes
 */
export async function changeFacts(
  store: Store,
  team: TeamId,
  latest: readonly string[],
  change: (facts: IncidentFacts) => IncidentFacts,
): Promise<void> {
  for (const last of latest) {
    let id: string | null = last;
    while (id !== null) id = await changeOne(store, team, id, change);
  }
}

/** Changes one message; returns the delivery before it, null for none. */
function changeOne(
  store: Store,
  team: TeamId,
  id: string,
  change: (facts: IncidentFacts) => IncidentFacts,
): Promise<string | null> {
  return untilCommitted("change a message", async () => {
    const entry = await getEntry(store, keys.delivery(team, id));
    const delivery = entry.value as Delivery | null;
    const facts = delivery?.message.incident ?? null;
    if (delivery === null || facts === null) return null;
    const incident = change(facts);
    if (incident === facts) return delivery.after;
    const value: Delivery = { ...delivery, message: { ...delivery.message, incident } };
    const checks: Deno.AtomicCheck[] = [entry];
    const sets: KvSet[] = [{ key: entry.key, value }];
    if (!hasEnded(delivery)) {
      // The result of a try that contains it is then planned again.
      const { channel } = delivery;
      const health = await getEntry(store, keys.channelHealth(team, channel));
      checks.push(health);
      sets.push({ key: health.key, value: health.value ?? NEW_HEALTH });
    }
    return await store.writer.commit({ team, checks, sets }) === null ? LOST : delivery.after;
  });
}
