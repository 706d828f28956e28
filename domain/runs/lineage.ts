/**
 * The runs that a run started, and those that they started.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { RunId } from "../core/ids.ts";
import type { RunListRow } from "./list.ts";

/** What is known of a run's children and of all its descendants. */
export interface RunLineage {
  /** Its children, the latest start first; not more than `CHILDREN_MAX` of them. */
  readonly children: readonly RunId[];
  /** Whether there are more children. */
  readonly hasMore: boolean;
  /** What all descendants cost that were looked at, each once, as far as they are summed up. */
  readonly cost: Picodollars;
  /** Whether there are more descendants, beyond `DESCENDANTS`, whose cost is not in it. */
  readonly isCut: boolean;
}

/** Reads families. Its methods reject with `StorageUnavailable` when the store fails. */
export interface LineageStore {
  /** Which runs of the team a run started, as far as they are summed up. */
  of(team: Team, id: RunId): Promise<RunLineage>;
  /**
   * Runs of the team as lists show them, in this order; those that it does not have are left out.
   *
   * @param ids at most `CHILDREN_MAX` and a parent, each once
   */
  rows(team: Team, ids: readonly RunId[]): Promise<readonly RunListRow[]>;
}
