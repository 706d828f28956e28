/**
 * The feed of changes: every run of a team at its latest change, in the order of the commits that made
 * the changes.
 *
 * Each change has a number, one more than the change before it. A run stands in the feed once: its next
 * change takes the place of the one before. Whoever reads from the beginning, and then behind the last
 * number each time, misses nothing and reads no state of a run twice.
 *
 * @module
 */
import type { RunId, TeamId } from "../core/ids.ts";
import type { RunListRow } from "../runs/list.ts";
import type { ChangeNumbers } from "../runs/summary.ts";

/** A run that changed, as it is now, or that it was deleted. */
export type RunChange =
  | {
    readonly kind: "changed";
    /** Its latest change. */
    readonly number: number;
    /** All of them that followers are told of. */
    readonly numbers: ChangeNumbers;
    /** The run as lists show it. */
    readonly row: RunListRow;
  }
  | {
    readonly kind: "deleted";
    /** The deletion as a change. */
    readonly number: number;
    /** The run. */
    readonly run: RunId;
    /** Unix milliseconds. */
    readonly deletedAt: number;
  };

/** A page of the feed. */
export interface ChangePage {
  /** Changes by number. */
  readonly changes: readonly RunChange[];
  /** Behind which number to go on. */
  readonly next: number;
  /** Whether there was more by the time of reading. */
  readonly hasMore: boolean;
}

/** One caller's watch over a team or one of its runs. Always `using`. */
export interface ChangeWatch extends Disposable {
  /**
   * Resolves once something may have changed since this was last called, or since the watch began; also
   * when the signal is aborted.
   */
  next(signal: AbortSignal): Promise<void>;
}

/** The feeds of all teams. Methods reject with `StorageUnavailable` when the store fails. */
export interface ChangeStore {
  /**
   * Reads the changes behind a number; null when the team has not come to that number yet.
   *
   * @param limit rows read at most; a page may have fewer changes and still not be the last
   * @param charsMax characters after which the page ends; that of the feed when absent
   */
  page(
    team: TeamId,
    after: number,
    limit: number,
    charsMax?: number,
  ): Promise<ChangePage | null>;
  /** The number of the latest change; 0 before the first. */
  last(team: TeamId): Promise<number>;
  /** Watches a team, or one run and the stages behind its close. */
  watch(team: TeamId, run?: RunId): ChangeWatch;
}
