/**
 * Following the runs of a team as they change: which events are told, and to whom.
 *
 * Each change is told once, at the state that the run is in by then. A run that opened and ended between
 * two looks has both events; one that goes on without ending has none, and its next event tells it all.
 *
 * @module
 */
import type { TeamId } from "../core/ids.ts";
import type { Parsed } from "../core/errors.ts";
import { isListed, RUN_KINDS, type RunListRow, type RunsQuery } from "../runs/list.ts";
import { FILTERS, parseFilters } from "../runs/filters.ts";
import { type Parameters, parseChoice } from "../core/query.ts";
import type { RunChange } from "./changes.ts";

/** What is told of a run, in the order it comes about. */
export const LIVE_EVENTS = ["run.opened", "run.finished", "run.cost_final"] as const;

/** One of {@link LIVE_EVENTS}. */
export type LiveEvent = typeof LIVE_EVENTS[number];

/** Changes that are told at once. */
export interface LiveBatch {
  /** The number behind which they begin. */
  readonly after: number;
  /** Changes by number. */
  readonly changes: readonly RunChange[];
  /** The number up to which nothing else is to be told. */
  readonly upTo: number;
}

/** The changes of all teams as they come. */
export interface LiveFeed {
  /**
   * Hands over every batch from now on, until it is disposed. Batches follow on each other but for those
   * that were too many: then the next one begins behind what is left out.
   */
  listen(team: TeamId, take: (batch: LiveBatch) => void): Promise<Disposable>;
}

/** Which runs to tell of. */
export type LiveFilters = Pick<
  RunsQuery,
  "agent" | "status" | "customer" | "feature" | "kind"
>;

/** What a change is to be told as to somebody who knows everything up to a number. */
export function eventsOf(change: RunChange, known: number): LiveEvent[] {
  if (change.kind === "deleted") return [];
  const { opened, finished, costFinal } = change.numbers;
  const numbers = { "run.opened": opened, "run.finished": finished, "run.cost_final": costFinal };
  return LIVE_EVENTS.filter((event) => numbers[event] > known);
}

/** Whether a run is among those that filters let through. */
export function isFollowed(row: RunListRow, filters: LiveFilters): boolean {
  return isListed(row, { ...filters, from: null, to: null });
}

/** Labels to filter by; models are left to lists. */
const LABELS = FILTERS.filter(({ filter }) => filter !== "model" && filter !== "provider");

/** Reads filters from the parameters of a query; others are ignored. */
export function parseLiveFilters(parameters: Parameters): Parsed<LiveFilters> {
  const labels = parseFilters(parameters, LABELS);
  if (!labels.ok) return labels;
  const kind = parseChoice(parameters, "kind", RUN_KINDS);
  if (!kind.ok) return kind;
  const { model: _, provider: __, ...value } = labels.value;
  return { ok: true, value: kind.value === undefined ? value : { ...value, kind: kind.value } };
}
