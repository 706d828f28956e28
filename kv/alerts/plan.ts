/**
 * Plans what a commit changes of a team's alerts: reads rows, decides, and writes rows.
 *
 * @module
 */
import { type AlertRows, decideAlerts } from "../../domain/alerts/decide.ts";
import type { AlertWork } from "../../domain/alerts/signal.ts";
import type { StampSource } from "../../domain/alerts/stamp.ts";
import type { AlertConfig } from "../../domain/alerts/touched.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";
import type { TeamRows } from "../team/rows.ts";
import { readLacking } from "./read.ts";
import { type AlertSets, changeRows, countsRow } from "./rows.ts";

/** Dependencies of plans. */
export interface AlertDeps {
  readonly store: Store;
  readonly stamps: StampSource;
}

/** Rows that alerts add to a commit. */
export interface AlertPlan extends AlertSets {
  /** Runs whose outcome an instance counts. */
  readonly counted: ReadonlySet<RunId>;
}

/** A commit that changes no alerts. */
export const NO_ALERTS: AlertPlan = { rows: [], sets: [], deletes: [], counted: new Set() };

/**
 * Plans the changes of a team's alerts.
 *
 * @param cached rows of the team, whose version was read before what the signals report
 */
export async function planAlerts(
  { store, stamps }: AlertDeps,
  team: TeamId,
  cached: TeamRows,
  config: AlertConfig,
  work: AlertWork,
  known: Pick<AlertRows, "seenBefore"> | null = null,
): Promise<AlertPlan> {
  const { signals, looks = [], byHand, ends } = work;
  const isNothing = looks.length === 0 && byHand === undefined && ends === undefined;
  if (signals.length === 0 && isNothing) return NO_ALERTS;
  const changing = new Set(signals.flatMap(({ run }) => run === null ? [] : [run]));
  const counts = await cached.get(countsRow(team)) ?? {};
  const rows = {
    ...{ config, counts, seenBefore: known?.seenBefore, instances: new Map() },
    ...{ incidents: new Map(), earlier: new Map(), unpriced: new Map(), errors: new Map() },
  };
  const stamp = stamps();
  for (;;) {
    const { change, lacking } = decideAlerts(rows, work, stamp.begin());
    if (change === null) {
      await readLacking(store, team, cached, rows, lacking, changing);
      continue;
    }
    const runs = [...change.incidentsOfRuns.keys()];
    const named = await getAll(store, runs.map((run) => keys.runIncidents(team, run)));
    return { ...changeRows(team, counts, change, named), counted: change.counted };
  }
}
