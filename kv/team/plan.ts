/**
 * Plans of changes of a team, which are committed in turn with the changes of its runs.
 *
 * Each commit checks and changes the version of the team's rows. So what a plan has read is still
 * true when it is committed, and commits of runs that were planned before are planned again.
 *
 * @module
 */
import type { AlertWork } from "../../domain/alerts/signal.ts";
import type { Environment } from "../../domain/core/environment.ts";
import type { Region, TeamId } from "../../domain/core/ids.ts";
import type { RollupRow } from "../../domain/spend/rollup.ts";
import type { Store } from "../store.ts";
import type { Write } from "../writer/group.ts";
import type { TeamSet } from "./rows.ts";

/** Rows of one commit. */
export interface PlannedRows extends Required<Pick<Write, "sets" | "deletes">> {
  /** Changed rows of the kinds that commits write through to memory; absent for none. */
  readonly rows?: readonly TeamSet[];
  /** Causes of changes to incidents; absent for none. The same commit changes them. */
  readonly alerts?: AlertWork;
  /** Read versions of rows that are changed without a turn. */
  readonly checks?: NonNullable<Write["checks"]>;
  /** Differences to the roll-ups that belong to removed runs, one row per group; absent for none. */
  readonly spend?: readonly RollupRow[];
  /** Amounts to add to counters; absent for none. */
  readonly sums?: NonNullable<Write["sums"]>;
}

/** Result of planning a change, and what to commit for it; null for nothing. */
export interface TeamPlan<Result> {
  readonly result: Result;
  readonly rows: PlannedRows | null;
  /** Result if the rows and what they cause do not fit into a commit: nothing is stored then. */
  readonly tooLarge?: Result;
  /** Receives the version of the commit. */
  readonly onCommitted?: (version: string) => void;
}

/** Commits changes of monitors, rules, incidents and what they cause. */
export interface TeamChanges {
  /**
   * Plans and commits a change of a team, in turn with the changes of its runs.
   *
   * @param by a call is planned within its deadline, which includes the wait for its turn; the loop
   * waits as long as it takes
   * @param plan reads what it changes; called again after a conflict with another process
   * @throws {StorageUnavailable} when the store fails, or the call takes too long
   */
  changeInTurn<Result>(
    team: TeamId,
    by: "call" | "clock",
    plan: () => Promise<TeamPlan<Result>>,
  ): Promise<Result>;
}

/** Dependencies of changes in turn. */
export interface ChangeDeps {
  readonly store: Store;
  readonly changes: TeamChanges;
}

/** Dependencies of stores that create objects with an identifier. */
export interface ObjectDeps extends ChangeDeps {
  readonly region: Region;
  readonly environment: Pick<Environment, "random">;
}
