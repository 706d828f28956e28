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
import { findEntry, getValue, type Store } from "../store.ts";
import { changeChannel } from "./health.ts";

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
async function changeOne(
  store: Store,
  team: TeamId,
  id: string,
  change: (facts: IncidentFacts) => IncidentFacts,
): Promise<string | null> {
  const stored = await getValue<Delivery>(store, keys.delivery(team, id));
  if (stored === null) return null;
  // The result of a try that is under way is then planned again with the changed message.
  return await changeChannel<string | null>(store, team, stored.channel, async (health) => {
    const entry = await findEntry<Delivery>(store, keys.delivery(team, id));
    const facts = entry?.value.message.incident ?? null;
    if (entry === null || facts === null) return { result: null, change: null };
    const delivery = entry.value;
    const incident = change(facts);
    if (incident === facts) return { result: delivery.after, change: null };
    const value: Delivery = { ...delivery, message: { ...delivery.message, incident } };
    const sets = [{ key: entry.key, value }];
    return { result: delivery.after, change: { health, checks: [entry], sets } };
  });
}
