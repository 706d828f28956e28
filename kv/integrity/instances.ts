/**
 * Verifies the groups of alert rules that are not ok, and their numbers.
 *
 * @module
 */
import { type AlertInstance, hasPlace } from "../../domain/alerts/instance.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { type AlertState, decodeInstance } from "../alerts/rows.ts";
import { keys } from "../base/keys.ts";
import { eachRow, getValue, type Store } from "../store.ts";
import { type Mismatch, mismatch, NONE } from "./mismatch.ts";

/**
 * Verifies the groups of a team.
 *
 * @param open ids of the incidents that are not resolved
 */
export async function verifyInstances(
  store: Store,
  team: TeamId,
  open: ReadonlySet<string>,
): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  const left = new Set(open);
  const found = new Map<string, { instances: number; firing: number }>();
  for await (const { key, value } of eachRow(store, { prefix: keys.alerts(team) })) {
    const what = `group ${key.slice(2).join(" ")}`;
    const instance = readable(value);
    if (instance === null || instance.rule !== key[2] || instance.text !== key[3]) {
      mismatches.push({ what, expected: "readable", found: "not readable" });
      continue;
    }
    const { rule, incident } = instance;
    const counts = found.get(rule) ?? { instances: 0, firing: 0 };
    counts.instances++;
    if (hasPlace(instance)) counts.firing++;
    found.set(rule, counts);
    if (incident !== null && !left.delete(incident)) {
      mismatches.push({ what: `incident of ${what}`, expected: "open", found: incident });
    }
  }
  for (const id of left) {
    mismatches.push({ what: `group of incident ${id}`, expected: "stored", found: NONE });
  }
  return [...mismatches, ...await verifyState(store, team, found)];
}

function readable(value: unknown): AlertInstance | null {
  try {
    return decodeInstance(value);
  } catch {
    return null;
  }
}

/** Compares the numbers of groups with the groups. */
async function verifyState(
  store: Store,
  team: TeamId,
  found: ReadonlyMap<string, { readonly instances: number; readonly firing: number }>,
): Promise<Mismatch[]> {
  const state = await getValue<AlertState>(store, keys.alertState(team)) ?? {};
  return [...new Set([...found.keys(), ...Object.keys(state)])].flatMap((rule) => {
    const { instances = 0, firing = 0 } = state[rule] ?? {};
    const expected = found.get(rule) ?? { instances: 0, firing: 0 };
    return mismatch(`numbers of rule ${rule}`, { ...expected }, { instances, firing });
  });
}
