/**
 * The change feed: every run of a team at its latest change, in commit order.
 *
 * Each change has a number, one more than the previous change. A run is in the feed once: its next
 * change replaces the previous one. A client that reads from the start, and then always after the last
 * number, misses nothing and reads no state of a run twice.
 *
 * @module
 */
import type { RunId, TeamId } from "../core/ids.ts";
import type { RunListRow } from "../runs/list.ts";
import type { ChangeNumbers } from "../runs/summary.ts";

/** Changed run in its current state, or a deleted run. */
export type RunChange =
  | {
    readonly kind: "changed";
    /** Number of its latest change. */
    readonly number: number;
    /** Numbers of the changes that live events report. */
    readonly numbers: ChangeNumbers;
    /** Run as shown in lists. */
    readonly row: RunListRow;
  }
  | {
    readonly kind: "deleted";
    /** Number of the deletion. */
    readonly number: number;
    /** Deleted run. */
    readonly run: RunId;
    /** Time of the deletion, unix milliseconds. */
    readonly deletedAt: number;
  };

/** Page of the feed. */
export interface ChangePage {
  /** Changes in order of their numbers. */
  readonly changes: readonly RunChange[];
  /** Number after which the next page starts. */
  readonly next: number;
  /** True if there were more changes at the time of reading. */
  readonly hasMore: boolean;
}

/** Store of all teams' feeds. Methods reject with `StorageUnavailable` when the store fails. */
export interface ChangeStore {
  /**
   * Reads the changes after a number; null if the team has not reached that number yet.
   *
   * @param limit maximum rows to read; a page may have fewer changes and still not be the last
   * @param charsMax approximate maximum characters of the page; the feed's limit when absent
   */
  page(
    team: TeamId,
    after: number,
    limit: number,
    charsMax?: number,
  ): Promise<ChangePage | null>;
  /** Returns the number of the latest change; 0 before the first. */
  last(team: TeamId): Promise<number>;
  /**
   * Returns a text that differs after each change of the team, or of one run and the stages after
   * its close.
   */
  version(team: TeamId, run: RunId | null): Promise<string>;
  /** Calls back after each such commit of this process, until disposed. */
  listen(team: TeamId, run: RunId | null, changed: () => void): Disposable;
}
