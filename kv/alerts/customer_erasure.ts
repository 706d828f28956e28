/**
 * Removes the incidents of a customer, and the customer from messages (decision 57). Rules and
 * silences that name the customer belong to the team and stay.
 *
 * @module
 */
import { withoutCustomer } from "../../domain/alerts/erasure.ts";
import { groupOf } from "../../domain/alerts/group.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { changeFacts } from "../channels/delivery_rows.ts";
import { readConfig } from "../config/objects.ts";
import type { ChangeDeps } from "../team/rows.ts";
import { getAll, listRows, rowsAfter } from "../store.ts";
import { instancesOf, isOfKind } from "./finding.ts";
import { rowsWithout } from "./incident_looks.ts";
import { decodeIncident, decodeInstance, readIncident } from "./rows.ts";

/** Incidents of one step. */
const INCIDENTS_PER_STEP = 100;

/** Progress of an erasure: the last incident that was checked. */
export interface IncidentPosition {
  /** Key of the incident; null for none. */
  readonly after: Deno.KvKey | null;
}

/** The initial position. */
export const FIRST_INCIDENT: IncidentPosition = { after: null };

/**
 * Erases a customer from some incidents of a team; the first step ends those that are open.
 *
 * @returns the position of the next step; null after the last one
 */
export async function eraseCustomer(
  deps: ChangeDeps,
  team: TeamId,
  customer: string,
  { after }: IncidentPosition,
): Promise<IncidentPosition | null> {
  const { store, changes } = deps;
  if (after === null) await endGroups(deps, team, customer);
  const range = rowsAfter(keys.incidents(team), after);
  const rows = await listRows(store, range, { limit: INCIDENTS_PER_STEP });
  const incidents = rows.map(({ value }) => decodeIncident(value));
  for (const found of incidents.filter((each) => each?.group.customer === customer)) {
    if (found === null) continue;
    // A run of the customer may have opened it meanwhile.
    if (found.state !== "resolved") await endGroup(deps, team, found.rule, found.groupText);
    await changeFacts(store, team, Object.values(found.deliveries), withoutCustomer);
    await changes.changeInTurn(team, "clock", async () => {
      const incident = await readIncident(store, team, found.id);
      const without = incident === null ? null : await rowsWithout(store, team, incident);
      return { result: null, rows: without };
    });
  }
  const last = rows.at(-1);
  return last === undefined || rows.length < INCIDENTS_PER_STEP ? null : { after: last.key };
}

/** Ends the groups of a customer, each in a commit of its own: it may have many messages. */
async function endGroups(deps: ChangeDeps, team: TeamId, customer: string): Promise<void> {
  const { store } = deps;
  const subject = { agent: null, customer, feature: null, model: null };
  const { text } = groupOf("customer", subject);
  const { rules } = await readConfig(store, team);
  const stored = await getAll(store, rules.map(({ slug }) => keys.alert(team, slug, text)));
  const ofBudgets = rules.filter((rule) => isOfKind(rule, "budget"));
  const marks = await Promise.all(ofBudgets.map((rule) => instancesOf(store, team, rule)));
  const instances = [...stored.map(({ value }) => decodeInstance(value)), ...marks.flat()];
  for (const instance of instances) {
    // Long names may share the text of a group.
    if (instance?.group.customer !== customer) continue;
    await endGroup(deps, team, instance.rule, instance.text);
  }
}

function endGroup(
  { changes }: ChangeDeps,
  team: TeamId,
  rule: string,
  group: string,
): Promise<void> {
  const rows = { sets: [], deletes: [], alerts: { signals: [], ends: { rule, group } } };
  return changes.changeInTurn(
    team,
    "clock",
    () => Promise.resolve({ result: undefined, rows }),
  );
}
