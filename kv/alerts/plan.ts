/**
 * Plans what a commit changes of a team's alerts: reads rows, decides, and writes rows.
 *
 * @module
 */
import { type AlertRows, decideAlerts } from "../../domain/alerts/decide.ts";
import type { AlertWork } from "../../domain/alerts/signal.ts";
import type { StampSource } from "../../domain/alerts/stamp.ts";
import { touched } from "../../domain/alerts/touched.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import { getAll, type Store } from "../store.ts";
import type { KvSet } from "../writer/write.ts";
import { type AlertCache, readLacking } from "./read.ts";
import { changeRows } from "./rows.ts";

/** Dependencies of plans. */
export interface AlertDeps {
  readonly store: Store;
  readonly stamps: StampSource;
  readonly cache: AlertCache;
}

/** Rows that alerts add to a commit. */
export interface AlertPlan {
  readonly sets: readonly KvSet[];
  readonly deletes: readonly Deno.KvKey[];
  /** Runs whose outcome an instance counts. */
  readonly counted: ReadonlySet<RunId>;
  /** Updates the cache after the commit, from one version of the roll-ups to the next. */
  readonly remember: (before: string | null, after: string) => void;
}

/**
 * Plans the changes of a team's alerts.
 *
 * @param version version of the team's roll-ups, read before what the signals report
 */
export async function planAlerts(
  { store, stamps, cache }: AlertDeps,
  team: TeamId,
  version: string | null,
  work: AlertWork,
  hints: Pick<AlertRows, "seenBefore"> = {},
): Promise<AlertPlan> {
  const { signals, looks = [], byHand, ends } = work;
  const areSignals = looks.length === 0 && byHand === undefined && ends === undefined;
  if (areSignals && signals.length === 0) return nothingFor(cache, team);
  const { config, counts, instances } = await cache.of(team, version);
  if (areSignals && touched(config, counts, signals).length === 0) return nothingFor(cache, team);
  const changing = new Set(signals.flatMap(({ run }) => run === null ? [] : [run]));
  const rows = {
    ...{ config, counts, instances, seenBefore: hints.seenBefore },
    ...{ incidents: new Map(), earlier: new Map(), unpriced: new Map(), errors: new Map() },
  };
  const stamp = stamps();
  for (;;) {
    const { change, lacking } = decideAlerts(rows, work, stamp.begin());
    if (change === null) {
      await readLacking(store, team, rows, lacking, changing);
      continue;
    }
    const runs = [...change.incidentsOfRuns.keys()];
    const named = await getAll(store, runs.map((run) => keys.runIncidents(team, run)));
    return {
      ...changeRows(team, counts, change, named),
      counted: change.counted,
      remember: (before, after) => cache.remember(team, before, after, change),
    };
  }
}

/** Returns the rows of a commit that changes no alerts. */
export function nothingFor(cache: AlertCache, team: TeamId): AlertPlan {
  return {
    sets: [],
    deletes: [],
    counted: new Set(),
    remember: (before, after) => cache.remember(team, before, after),
  };
}
