/**
 * The change feed: every run of a team at its latest change, in commit order.
 *
 * Each change has a number, one more than the previous change. A run is in the feed once: its next
 * change replaces the previous one. A client that reads from the start, and then always after the last
 * number, misses nothing and reads no state of a run twice. A live stream sends it as events.
 *
 * @module
 */
import type { RunId, TeamId } from "../core/ids.ts";
import type { ChangeNumbers } from "../runs/summary.ts";
import { isListed, RUN_KINDS, type RunListRow, type RunsQuery } from "../runs/list.ts";
import { FILTERS, readFilters } from "../runs/filters.ts";
import type { Query } from "../core/query.ts";

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
  page(team: TeamId, after: number, limit: number, charsMax?: number): Promise<ChangePage | null>;
  /** Returns the number of the latest change; 0 before the first. */
  last(team: TeamId): Promise<number>;
  /**
   * Returns a text that differs after each change of the team, or of one run and the stages after
   * its close.
   *
   * @param withJudges true if the results of judges are changes of the run too
   */
  version(team: TeamId, run: RunId | null, withJudges?: boolean): Promise<string>;
  /** Calls back after each such commit of this process, until disposed. */
  listen(team: TeamId, run: RunId | null, changed: () => void): Disposable;
}

/** Events of a run, in the order they occur. */
export const LIVE_EVENTS = [
  "run.opened",
  "run.finished",
  "run.cost_final",
  "run.checked",
  "run.judged",
] as const;

/** One of {@link LIVE_EVENTS}. */
export type LiveEvent = typeof LIVE_EVENTS[number];

/** A change to deliver. */
export type LiveChange = RunChange & {
  /** Number of the change up to which events of its run were delivered; absent: that of the batch. */
  readonly eventsAfter?: number;
};

/** Batch of changes. */
export interface LiveBatch {
  /** Number after which the batch starts. */
  readonly after: number;
  /** Number after which events may be in it: those of runs that changed while the feed was read. */
  readonly eventsAfter?: number;
  /** Changes in order of their numbers. */
  readonly changes: readonly LiveChange[];
  /** Number up to which the batch is complete. */
  readonly upTo: number;
}

/** Live changes of all teams. */
export interface LiveFeed {
  /**
   * Passes every batch from now on to `take`, until disposed. Batches are contiguous, unless a lagging
   * listener skips changes: then the next batch starts after the gap.
   */
  listen(team: TeamId, take: (batch: LiveBatch) => void): Promise<Disposable>;
}

/** Filters of a live stream. */
export type LiveFilters = Pick<RunsQuery, "agent" | "status" | "customer" | "feature" | "kind">;

/** Returns the events of a change for a client that has read everything up to a number. */
export function eventsOf(change: RunChange, after: number): LiveEvent[] {
  if (change.kind === "deleted") return [];
  const { opened, finished, costFinal, checked = 0, judged = 0 } = change.numbers;
  const numbers = {
    "run.opened": opened,
    "run.finished": finished,
    "run.cost_final": costFinal,
    "run.checked": checked,
    "run.judged": judged,
  };
  return LIVE_EVENTS.filter((event) => numbers[event] > after);
}

/** Returns whether a run matches the filters. */
export function isFollowed(row: RunListRow, filters: LiveFilters): boolean {
  return isListed(row, { ...filters, from: null, to: null });
}

/** Filters by label; only lists filter by model. */
const LABELS = FILTERS.filter(({ filter }) => filter !== "model" && filter !== "provider");

/** Reads the filters of a query; ignores other parameters. */
export function readLiveFilters(query: Query): LiveFilters {
  const { model: _, provider: __, ...labels } = readFilters(query, LABELS);
  const kind = query.choice("kind", RUN_KINDS);
  return kind === undefined ? labels : { ...labels, kind };
}
