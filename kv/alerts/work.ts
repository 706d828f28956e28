/**
 * Plans changes of incidents for commits in turn, such as those of looks.
 *
 * @module
 */
import type { AlertWork } from "../../domain/alerts/signal.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { keys } from "../base/keys.ts";
import type { TeamRows } from "../monitors/team_changes.ts";
import { getEntry } from "../store.ts";
import { planAlerts } from "./fold.ts";
import type { AlertDeps } from "./session.ts";
import type { AlertCache } from "./state.ts";

/** Rows to commit, and what to call with the version of the commit. */
export interface PlannedWork extends Pick<TeamRows, "sets" | "deletes"> {
  readonly onCommitted: (version: string) => void;
}

/** Plans the changes of a team's incidents, within a change in turn. */
export type PlanWork = (team: TeamId, work: AlertWork) => Promise<PlannedWork>;

/** Creates such a plan. */
export function createPlanWork(deps: AlertDeps & { readonly cache: AlertCache }): PlanWork {
  return async (team, work) => {
    const { versionstamp } = await getEntry(deps.store, keys.rollupVersion(team));
    const { sets, deletes, remember } = await planAlerts(deps, team, versionstamp, work);
    return {
      sets: [...sets],
      deletes: [...deletes],
      onCommitted: (version) => remember(versionstamp, version),
    };
  };
}
