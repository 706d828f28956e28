/**
 * Reads the rows that decisions about alerts need. Instances are cached with other rows of their
 * team, so a good run of a team without instances costs no read.
 *
 * @module
 */
import type { LackingRows } from "../../domain/alerts/decide.ts";
import type { Incident } from "../../domain/alerts/incident.ts";
import type { AlertInstance } from "../../domain/alerts/instance.ts";
import type { AlertSignal } from "../../domain/alerts/signal.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";
import type { TeamRows } from "../team/rows.ts";
import { earlierOutcomes } from "./earlier_outcomes.ts";
import { decodeIncident, instanceRow } from "./rows.ts";
import { readError } from "./run_errors.ts";
import { wereUnpriced } from "./unpriced_calls.ts";

/** Rows of a decision that grow until it lacks none. */
export interface GrowingRows {
  readonly instances: Map<string, AlertInstance | null>;
  readonly incidents: Map<string, Incident | null>;
  readonly earlier: Map<string, readonly AlertSignal[]>;
  readonly unpriced: Map<string, boolean>;
  readonly errors: Map<RunId, string | null>;
}

/**
 * Reads the rows that a decision lacks.
 *
 * @param cached rows of the team, under the version that the commit checks
 * @param rows receives them
 * @param changing runs that the commit changes
 */
export async function readLacking(
  store: Store,
  team: TeamId,
  cached: TeamRows,
  rows: GrowingRows,
  lacking: LackingRows,
  changing: ReadonlySet<RunId>,
): Promise<void> {
  const groups = [...lacking.instances];
  const ids = [...lacking.incidents];
  const [instances, incidents] = await Promise.all([
    cached.getAll(groups.map(([, { rule, group }]) => instanceRow(team, rule, group))),
    getAll(store, ids.map((id) => keys.incident(team, id))),
  ]);
  for (const [i, [name]] of groups.entries()) rows.instances.set(name, instances[i] ?? null);
  for (const [i, id] of ids.entries()) rows.incidents.set(id, decodeIncident(incidents[i]?.value));
  for (const [name, group] of lacking.earlier) {
    rows.earlier.set(name, await earlierOutcomes(store, team, group, changing));
  }
  for (const [name, signals] of lacking.unpriced) {
    rows.unpriced.set(name, await wereUnpriced(store, team, signals));
  }
  for (const run of lacking.errors) rows.errors.set(run, await readError(store, team, run));
}
