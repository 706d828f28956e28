/**
 * Lineage: the children and descendants of a run.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { RunId } from "../core/ids.ts";
import type { RunListRow } from "./list.ts";

/** Children and descendants of a run. */
export interface RunLineage {
  /** Children, latest start first; at most `CHILDREN_MAX`. */
  readonly children: readonly RunId[];
  /** True if there are more children. */
  readonly hasMore: boolean;
  /** Cost of the descendants read, each counted once, as of their last summary. */
  readonly cost: Picodollars;
  /** True if there are more descendants than `DESCENDANTS`; their cost is not included. */
  readonly isCut: boolean;
}

/** Reads lineages. Its methods reject with `StorageUnavailable` when the store fails. */
export interface LineageStore {
  /** Returns the summarized children and descendants of a run. */
  of(team: Team, id: RunId): Promise<RunLineage>;
  /**
   * Returns runs of the team as list rows, in the order of `ids`; missing runs are left out.
   *
   * @param ids at most `CHILDREN_MAX` and a parent, each once
   */
  rows(team: Team, ids: readonly RunId[]): Promise<readonly RunListRow[]>;
}
