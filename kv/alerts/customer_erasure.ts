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
import type { AlertSignal, AlertWork } from "../../domain/alerts/signal.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { changeFacts } from "../channels/delivery_facts.ts";
import { readConfig } from "../config/objects.ts";
import type { TeamChanges, TeamRows } from "../monitors/team_changes.ts";
import { getAll, listRows, rowsAfter, type Store } from "../store.ts";
import { goodFor } from "./found.ts";
import { rowsWithout } from "./incident_looks.ts";
import { decodeIncident, decodeInstance, readIncident } from "./rows.ts";

/** Dependencies of the erasure. */
export interface ErasureDeps {
  readonly store: Store;
  readonly changes: TeamChanges;
  /** Plans the rows of incidents, for a commit in turn; see `fold.ts`. */
  readonly plan: (team: TeamId, work: AlertWork, nowMs: number) => Promise<TeamRows>;
}

/** Incidents of one step. */
const INCIDENTS_PER_STEP = 100;

/**
 * Erases a customer from some incidents of a team; the first step ends those that are open.
 *
 * @param after key of the last incident of the step before; null for the first step
 * @returns that key for the next step; null after the last one
 */
export async function eraseCustomer(
  deps: ErasureDeps,
  team: TeamId,
  customer: string,
  after: Deno.KvKey | null,
  nowMs: number,
): Promise<Deno.KvKey | null> {
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
  return rows.length < INCIDENTS_PER_STEP ? null : rows.at(-1)?.key ?? null;
}

/** Ends the groups of a customer, in all rules. */
async function endGroups(
  { store, changes, plan }: ErasureDeps,
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
      return isEnded ? goodOnes(rule, instance, nowMs) : [];
    });
    if (signals.length === 0) return { result: null, rows: null };
    return { result: null, rows: await plan(team, { signals }, nowMs) };
  });
}

/** Returns enough good outcomes to end a group. */
function goodOnes(rule: Rule, instance: AlertInstance, nowMs: number): AlertSignal[] {
  return Array.from(
    { length: rule.settings.resolveAfter },
    (_, i) => goodFor(rule, instance, `erased ${i}`, nowMs),
  );
}
