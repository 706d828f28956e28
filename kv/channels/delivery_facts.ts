/**
 * Changes what stored messages say about their incidents, when data of a run or a customer is
 * removed (decision 57).
 *
 * @module
 */
import type { Delivery } from "../../domain/channels/delivery.ts";
import type { IncidentFacts } from "../../domain/channels/message.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { LOST, untilCommitted } from "../base/retry.ts";
import { getMany, type Store } from "../store.ts";

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
    const [entry] = await getMany(store, [keys.delivery(team, id)]);
    const delivery = (entry?.value ?? null) as Delivery | null;
    const facts = delivery?.message.incident ?? null;
    if (entry === undefined || delivery === null || facts === null) return null;
    const incident = change(facts);
    if (incident === facts) return delivery.after;
    const value: Delivery = { ...delivery, message: { ...delivery.message, incident } };
    const sets = [{ key: entry.key, value }];
    const version = await store.writer.commit({ team, checks: [entry], sets });
    return version === null ? LOST : delivery.after;
  });
}
