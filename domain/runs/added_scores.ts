/**
 * Scores added to a run after or apart from its close: by a call of their own, or as events (R17).
 *
 * @module
 */
import { ADDED_SCORES_MAX } from "../core/limits.ts";
import type { RunEvent } from "./event.ts";
import type { EventId, ScoreId } from "../core/ids.ts";

/** A score stored separately from the scores of the close. */
export interface AddedScore {
  /** Id of the score, or of the event that carried it; unique within its run. */
  readonly id: ScoreId | EventId;
  /** Name of the metric it measures. */
  readonly name: string;
  /** Value of the score. */
  readonly value: number | boolean;
  /** Source of the score, such as `api` or `event`. */
  readonly source: string;
  /** Arrival by the server's clock, unix milliseconds. */
  readonly receivedAt: number;
}

/** Aggregate of the scores added to a run. */
export interface ScoreSum {
  /** Number of stored scores. */
  readonly count: number;
  /** Arrival of the first, unix milliseconds. */
  readonly firstAt: number;
  /** Arrival of the latest, unix milliseconds. */
  readonly latestAt: number;
  /** Number of score events dropped because the run was full; absent for none. */
  readonly dropped?: number;
}

/** Source of a score that was sent as an event. */
const EVENT_SOURCE = "event";

/** Adds `count` scores to the aggregate. The caller has checked that the run has room for them. */
export function addToSum(sum: ScoreSum | undefined, count: number, receivedAt: number): ScoreSum {
  return {
    ...sum,
    count: (sum?.count ?? 0) + count,
    firstAt: sum?.firstAt ?? receivedAt,
    // The clock may have been set back; the latest arrival never moves backwards.
    latestAt: Math.max(sum?.latestAt ?? 0, receivedAt),
  };
}

/** Scores found among new events, in the form they are stored in. */
export interface EventScores {
  /** Scores the run has room for, in batch order. */
  readonly added: readonly AddedScore[];
  /** Number of scores the run has no room for. */
  readonly dropped: number;
  /** Updated aggregate for the ledger. */
  readonly sum: ScoreSum | undefined;
}

/**
 * Extracts the scores from events that are new to a run. Each score is stored once, like its event.
 */
export function scoresOfEvents(
  sum: ScoreSum | undefined,
  events: readonly RunEvent[],
  receivedAt: number,
): EventScores {
  const all: AddedScore[] = [];
  for (const { id, score } of events) {
    if (score === undefined) continue;
    const [name, value] = score;
    all.push({ id, name, value, source: EVENT_SOURCE, receivedAt });
  }
  if (all.length === 0) return { added: [], dropped: 0, sum };
  const added = all.slice(0, ADDED_SCORES_MAX - (sum?.count ?? 0));
  const dropped = all.length - added.length;
  const next = addToSum(sum, added.length, receivedAt);
  const droppedAll = (sum?.dropped ?? 0) + dropped;
  return { added, dropped, sum: droppedAll === 0 ? next : { ...next, dropped: droppedAll } };
}
