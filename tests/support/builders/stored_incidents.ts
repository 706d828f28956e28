/** Stores incidents with their rows and messages. */
import { firstReviewAt, newInstance } from "../../../domain/alerts/instance.ts";
import type { Incident } from "../../../domain/alerts/incident.ts";
import { factsOf } from "../../../domain/alerts/transition.ts";
import { DEFAULT_RULES, type Rule } from "../../../domain/alerts/rule.ts";
import { type Delivery, newDelivery } from "../../../domain/channels/delivery.ts";
import type { RunId, TeamId } from "../../../domain/core/ids.ts";
import { incidentAtSet, incidentSet, instanceSet } from "../../../kv/alerts/rows.ts";
import { keys } from "../../../kv/base/keys.ts";
import { newDeliveryRows } from "../../../kv/channels/delivery_rows.ts";
import { workSet } from "../../../kv/work/store.ts";
import type { Store } from "../../../kv/store.ts";
import type { KvSet } from "../../../kv/writer/group.ts";

/** Stores an incident with two messages to the channel "ops". */
export async function storeIncident(store: Store, team: TeamId, incident: Incident): Promise<void> {
  const { id, openedAt, state, runs } = incident;
  const message = { event: "incident.opened", at: openedAt, incident: factsOf(incident) } as const;
  const channel = { slug: "ops", type: "webhook" } as const;
  const first = newDelivery(`whd_${id}_1`, channel, message, null);
  const deliveries: Delivery[] = [first, newDelivery(`whd_${id}_2`, channel, message, first.id)];
  const value: Incident = { ...incident, deliveries: { ops: `whd_${id}_2` } };
  await store.writer.commit({
    team,
    sets: [
      incidentSet(team, value),
      incidentAtSet(team, value),
      ...state === "resolved" ? [] : [{ key: keys.openIncident(team, id), value: true }],
      ...state === "resolved" ? [] : firing(team, incident),
      ...runs.map((run: RunId) => ({ key: keys.runIncidents(team, run), value: [id] })),
      workSet({ at: firstReviewAt(openedAt), kind: "incident", team, name: id }),
      ...newDeliveryRows(team, deliveries),
    ],
  });
}

/** Returns the rows of the group of an incident, the only one of its rule. */
function firing(team: TeamId, { id, rule: slug, group, groupText }: Incident): KvSet[] {
  const rule = DEFAULT_RULES.find((rule) => rule.slug === slug) as Rule;
  const instance = { ...newInstance(rule, { text: groupText, group }), incident: id };
  const state = { [slug]: { instances: 1, firing: 1, overflow: null } };
  return [instanceSet(team, instance), { key: keys.alertState(team), value: state }];
}
