/**
 * Commits of a team, apart from changes of its runs, in turn with those.
 *
 * @module
 */
import { LRUCache } from "lru-cache";
import type { StampSource } from "../../domain/alerts/stamp.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { type AlertDeps, NO_ALERTS, planAlerts } from "../alerts/plan.ts";
import { KeyedMutex } from "../../runtime/keyed_mutex.ts";
import { keys } from "../base/keys.ts";
import { BACK_ENDS } from "../base/limits.ts";
import { ConfigCache } from "../config/prepared.ts";
import { LOST, untilCommitted, untilCommittedInTime } from "../base/retry.ts";
import type { TeamChanges, TeamPlan, TeamRows } from "../monitors/team_changes.ts";
import type { SumsAdjustment } from "../runs/run_update.ts";
import { changeRemovedSums, changeRollups } from "../spend/rollup_changes.ts";
import type { Store } from "../store.ts";
import { storedRows, TeamRowCache } from "../team/rows.ts";
import { keyText, sizeOf } from "../writer/group.ts";
import type { Write } from "../writer/write.ts";

/** A plan that may change roll-ups too. */
type TurnPlan<Result> = TeamPlan<Result> & { readonly adjustment?: SumsAdjustment };

const NO_ROWS: TeamRows = { sets: [], deletes: [] };

/** Maximum looks that a process remembers to have filed. */
const LOOKS_MAX = 10_000;

/** Caches of rows that are current under one version of a team's roll-ups; all commits share them. */
export interface TeamCaches {
  readonly store: Store;
  readonly rows: TeamRowCache;
  /** Configuration of teams. */
  readonly configs: ConfigCache;
  /** Null if runs change without alerts. */
  readonly alerts: AlertDeps | null;
  /** Looks at rules and at usage that are filed and not due yet. */
  readonly filed: LRUCache<string, true>;
}

/** Commits changes of teams, one of a team at a time. */
export class TeamCommits implements TeamChanges {
  protected readonly caches: TeamCaches;
  protected readonly locks = new KeyedMutex();

  /** @param stamps time and identifiers of incidents; null to change runs without alerts */
  constructor(store: Store, stamps: StampSource | null) {
    this.caches = {
      store,
      configs: new ConfigCache(store),
      rows: new TeamRowCache(store),
      alerts: stamps && { store, stamps },
      filed: new LRUCache({ max: LOOKS_MAX }),
    };
  }

  /**
   * Adjusts a team's roll-ups by differences that belong to removed runs.
   *
   * @param plan reads the differences and what else to commit; null for none. It may be called
   * again
   */
  adjust(team: TeamId, plan: () => Promise<SumsAdjustment | null>): Promise<void> {
    return this.changeInTurn<void>(team, "clock", async (): Promise<TurnPlan<void>> => {
      const adjustment = await plan();
      if (adjustment === null) return { result: undefined, rows: null };
      return { result: undefined, rows: NO_ROWS, adjustment };
    });
  }

  /** See {@link TeamChanges.changeInTurn}. */
  changeInTurn<Result>(
    team: TeamId,
    by: "call" | "clock",
    plan: () => Promise<TurnPlan<Result>>,
  ): Promise<Result> {
    const attempt = () => this.#attempt(team, plan);
    const { deadlines } = this.caches.store;
    const task = "change a team";
    const locked = (work: () => Promise<Result>) => this.locks.take(team, work);
    return by === "clock"
      ? locked(() => untilCommitted(task, attempt))
      : untilCommittedInTime(task, deadlines, attempt, locked);
  }

  /** Plans and commits once; the version of the roll-ups protects what the plan reads. */
  async #attempt<Result>(
    team: TeamId,
    plan: () => Promise<TurnPlan<Result>>,
  ): Promise<Result | typeof LOST> {
    const { alerts: alertDeps, configs, rows: rowCache, store } = this.caches;
    const current = await rowCache.of(team);
    const planned = await plan();
    const { rows, adjustment: { rows: differences, sums } = { rows: [], sums: [] } } = planned;
    if (rows === null) return planned.result;
    const rollups = await changeRollups(current, team, differences);
    const removed = differences.length === 0
      ? NO_ROWS
      : await changeRemovedSums({ store, team }, differences);
    const alerts = alertDeps === null || rows.alerts === undefined
      ? NO_ALERTS
      : await planAlerts(alertDeps, team, current, await configs.of(team, current), rows.alerts);
    const changedRows = [...rollups.rows, ...alerts.rows, ...rows.rows ?? []];
    const stored = storedRows(changedRows);
    const key = keys.rollupVersion(team);
    const changed = [stored, removed, rows, alerts];
    const write = withoutSet({
      team,
      checks: [{ key, versionstamp: current.version }, ...rows.checks ?? []],
      sums,
      sets: [
        { key, value: current.lastChange },
        ...rollups.sets,
        ...changed.flatMap(({ sets }) => sets),
      ],
      deletes: changed.flatMap(({ deletes }) => deletes),
    });
    if (planned.tooLarge !== undefined && isTooLarge(write)) return planned.tooLarge;
    const version = await store.writer.commit(write);
    if (version === null) {
      rowCache.forget(team);
      return LOST;
    }
    const others = [...rows.sets.map(({ key }) => key), ...rows.deletes];
    current.written(version, current.lastChange, changedRows, others);
    rowCache.keep(team, current);
    planned.onCommitted?.(version);
    return planned.result;
  }
}

/** Returns a write that deletes no row that it sets. */
function withoutSet(write: Write & Required<Pick<Write, "sets" | "deletes">>): Write {
  const set = new Set(write.sets.map(({ key }) => keyText(key)));
  return { ...write, deletes: write.deletes.filter((key) => !set.has(keyText(key))) };
}

/** Returns whether a write that has parts may not fit into a commit of any store. */
function isTooLarge(write: Write): boolean {
  const { bytes, keyBytes, mutations } = sizeOf(write);
  const max = BACK_ENDS.remote;
  return bytes > max.bytes || keyBytes > max.keyBytes || mutations > max.mutations;
}
