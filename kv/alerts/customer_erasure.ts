/**
 * Removes the incidents of a customer, and the customer from messages (decision 57). Rules and
 * silences that name the customer belong to the team and stay.
 *
 * @module
 */
import { withoutCustomer } from "../../domain/alerts/erasure.ts";
import { groupOf } from "../../domain/alerts/group.ts";
import { type AlertInstance, isOfRule } from "../../domain/alerts/instance.ts";
import type { Rule } from "../../domain/alerts/rule.ts";
import type { AlertSignal } from "../../domain/alerts/signal.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { changeFacts } from "../channels/delivery_facts.ts";
import { readConfig } from "../config/objects.ts";
import type { TeamChanges } from "../monitors/team_changes.ts";
import { getAll, listRows, rowsAfter, type Store } from "../store.ts";
import { goodFor } from "./found.ts";
import { rowsWithout } from "./incident_looks.ts";
import { decodeIncident, decodeInstance, readIncident } from "./rows.ts";

/** Dependencies of the erasure. */
export interface ErasureDeps {
  readonly store: Store;
  readonly changes: TeamChanges;
}

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
  deps: ErasureDeps,
  team: TeamId,
  customer: string,
  { after }: IncidentPosition,
  nowMs: number,
): Promise<IncidentPosition | null> {
  const { store, changes } = deps;
  if (after === null) await endGroups(deps, team, customer, nowMs);
  const range = rowsAfter(keys.incidents(team), after);
  const rows = await listRows(store, range, { limit: INCIDENTS_PER_STEP });
  const incidents = rows.map(({ value }) => decodeIncident(value));
  for (const found of incidents.filter((each) => each?.group.customer === customer)) {
    if (found === null) continue;
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

/** Ends the groups of a customer, in all rules. */
async function endGroups(
  { store, changes }: ErasureDeps,
  team: TeamId,
  customer: string,
  nowMs: number,
): Promise<void> {
  const subject = { agent: null, customer, feature: null, model: null };
  const { text } = groupOf("customer", subject);
  await changes.changeInTurn(team, "clock", async () => {
    const { rules } = await readConfig(store, team);
    const stored = await getAll(store, rules.map(({ slug }) => keys.alert(team, slug, text)));
    const signals = rules.flatMap((rule, i) => {
      const instance = decodeInstance(stored[i]?.value);
      const isEnded = instance?.group.customer === customer && isOfRule(instance, rule);
      return isEnded ? endOf(rule, instance, nowMs) : [];
    });
    const rows = { sets: [], deletes: [], alerts: { signals } };
    return { result: null, rows: signals.length === 0 ? null : rows };
  });
}

/** Returns signals that end a group: none of its outcomes, and enough good ones. */
function endOf(rule: Rule, instance: AlertInstance, nowMs: number): AlertSignal[] {
  const { settings: { condition: { kind }, resolveAfter } } = rule;
  const goods = Array.from(
    { length: resolveAfter },
    (_, i) => goodFor(rule, instance, `erased ${i}`, nowMs),
  );
  if (kind !== "run_failed") return goods;
  const removed = instance.outcomes.kept.map(({ key, at }): AlertSignal => ({
    ...goodFor(rule, instance, key, at),
    outcome: "none",
  }));
  return [...removed, ...goods];
}
