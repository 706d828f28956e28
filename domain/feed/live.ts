/**
 * Live streams of a team's runs: events and filters.
 *
 * Each change is reported once, with the current state of the run. A run that opened and finished
 * between two reads has both events. A change without an event is part of the run's next event.
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import { isListed, RUN_KINDS, type RunListRow, type RunsQuery } from "../runs/list.ts";
import { FILTERS, readFilters } from "../runs/filters.ts";
import type { Query } from "../core/query.ts";
import type { RunChange } from "./changes.ts";

/** Events of a run, in the order they occur. */
export const LIVE_EVENTS = ["run.opened", "run.finished", "run.cost_final", "run.checked"] as const;

/** One of {@link LIVE_EVENTS}. */
export type LiveEvent = typeof LIVE_EVENTS[number];

/** Batch of changes. */
export interface LiveBatch {
  /** Number after which the batch starts. */
  readonly after: number;
  /** Changes in order of their numbers. */
  readonly changes: readonly RunChange[];
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
export type LiveFilters = Pick<
  RunsQuery,
  "agent" | "status" | "customer" | "feature" | "kind"
>;

/** Returns the events of a change for a client that has read everything up to a number. */
export function eventsOf(change: RunChange, after: number): LiveEvent[] {
  if (change.kind === "deleted") return [];
  const { opened, finished, costFinal, checked = 0 } = change.numbers;
  const numbers = {
    "run.opened": opened,
    "run.finished": finished,
    "run.cost_final": costFinal,
    "run.checked": checked,
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
