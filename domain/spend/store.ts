/**
 * The contract of the store of roll-ups.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { RollupGroup, RollupKind, RollupRow } from "./rollup.ts";
import type { Parsed } from "../core/errors.ts";

/** The roll-ups: what the runs of each day come to. */
export interface SpendStore {
  /**
   * Reads the rows of one kind by day, some at a time.
   *
   * Each row is exactly its runs' sum at some moment of the reading; other rows may be of another.
   *
   * @param fromDay first UTC day, `YYYY-MM-DD`
   * @param toDay last UTC day, inclusive
   * @throws {StorageUnavailable} when the store fails or takes too long
   */
  rows(
    team: Team,
    kind: RollupKind,
    fromDay: string,
    toDay: string,
  ): AsyncIterable<readonly RollupRow[]>;
  /**
   * Answers a question that reads many rows: in its turn, and not for longer than a deadline.
   *
   * @param work reads the rows and makes the answer; must not ask another question
   * @returns its answer, or the refusal of a question that takes too long
   * @throws {Overloaded} when too many questions wait
   */
  ask<T>(team: Team, work: () => Promise<Parsed<T>>): Promise<Parsed<T>>;
  /**
   * Reads the rows of some groups on some days, in no order: for few groups among many.
   *
   * @param days UTC days, `YYYY-MM-DD`
   * @throws {StorageUnavailable} when the store fails or takes too long
   */
  some(
    team: Team,
    groups: readonly RollupGroup[],
    days: readonly string[],
  ): Promise<readonly RollupRow[]>;
}
