/**
 * Commits of a team, apart from changes of its runs, in turn with those.
 *
 * @module
 */
import type { TeamId } from "../../domain/core/ids.ts";
import { planAlerts } from "../alerts/fold.ts";
import { KeyedMutex } from "../../runtime/keyed_mutex.ts";
import { BACK_ENDS } from "../base/limits.ts";
import { LOST, untilCommitted, untilCommittedInTime } from "../base/retry.ts";
import type { TeamChanges, TeamPlan, TeamRows } from "../monitors/team_changes.ts";
import type { SumsAdjustment } from "../runs/run_update.ts";
import { keyText, sizeOf } from "../writer/group.ts";
import type { Write } from "../writer/write.ts";
import { forgetChanged, NO_ALERTS, type TeamCaches } from "./team_caches.ts";
import { changeRemovedSums } from "../spend/rollup_cache.ts";

/** A plan that may change roll-ups too. */
type TurnPlan<Result> = TeamPlan<Result> & { readonly adjustment?: SumsAdjustment };

const NO_ROWS: TeamRows = { sets: [], deletes: [] };

/** Takes turns of teams. */
export class TeamTurns implements TeamChanges {
  readonly #caches: TeamCaches;
  readonly #locks: KeyedMutex;

  /** @param locks locks of teams, which changes of their runs take too */
  constructor(caches: TeamCaches, locks: KeyedMutex) {
    this.#caches = caches;
    this.#locks = locks;
  }

  /**
   * Adjusts a team's roll-ups by differences that belong to removed runs.
   *
   * @param plan reads the differences and what else to commit; null for none. It may be called
   * again
   */
  adjust(team: TeamId, plan: () => Promise<SumsAdjustment | null>): Promise<void> {
    const attempt = () =>
      this.#attempt<void>(team, async () => {
        const adjustment = await plan();
        if (adjustment === null) return { result: undefined, rows: null };
        return { result: undefined, rows: NO_ROWS, adjustment };
      });
    return this.#locks.take(team, () => untilCommitted("change roll-ups", attempt));
  }

  /** See {@link TeamChanges.changeInTurn}. */
  changeInTurn<Result>(
    team: TeamId,
    by: "call" | "clock",
    plan: () => Promise<TeamPlan<Result>>,
  ): Promise<Result> {
    const attempt = () => this.#attempt(team, plan);
    const { deadlines } = this.#caches.store;
    const task = "change a team";
    const locked = (work: () => Promise<Result>) => this.#locks.take(team, work);
    return by === "clock"
      ? locked(() => untilCommitted(task, attempt))
      : untilCommittedInTime(task, deadlines, attempt, locked);
  }

  /** Plans and commits once; the version of the roll-ups protects what the plan reads. */
  async #attempt<Result>(
    team: TeamId,
    plan: () => Promise<TurnPlan<Result>>,
  ): Promise<Result | typeof LOST> {
    const { agents: agentCache, alerts: alertDeps, configs, rollups: rollupCache, store } =
      this.#caches;
    const current = await rollupCache.of(team);
    const planned = await plan();
    const { rows, adjustment: { rows: differences, sums } = { rows: [], sums: [] } } = planned;
    if (rows === null) return planned.result;
    const rollups = await rollupCache.change(team, current, differences);
    const agents = await agentCache.change(team, current.version, []);
    const removed = differences.length === 0
      ? NO_ROWS
      : await changeRemovedSums({ store, team }, differences);
    const alerts = alertDeps === null || rows.alerts === undefined
      ? NO_ALERTS
      : await planAlerts(alertDeps, team, current.version, rows.alerts);
    const write = withoutSet({
      team,
      checks: [...rollups.checks, ...rows.checks ?? []],
      sums,
      sets: [...rollups.sets, ...removed.sets, ...rows.sets, ...alerts.sets],
      deletes: [...rollups.deletes, ...removed.deletes, ...rows.deletes, ...alerts.deletes],
    });
    if (planned.tooLarge !== undefined && isTooLarge(write)) return planned.tooLarge;
    const version = await store.writer.commit(write);
    if (version === null) {
      rollupCache.forget(team);
      return LOST;
    }
    agents.remember(version, rows.monitors ?? new Map());
    if (alerts === NO_ALERTS) configs.remember(team, current.version, version);
    else alerts.remember(current.version, version);
    forgetChanged(this.#caches, team, rows.sets, rows.deletes);
    rollups.remember(version);
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
