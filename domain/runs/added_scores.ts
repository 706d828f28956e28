/**
 * Scores beside those of a run's close: added by a call of their own, or sent as events (R17).
 *
 * @module
 */
import { ADDED_SCORES_MAX } from "../core/limits.ts";
import type { RunEvent } from "./event.ts";
import type { EventId, ScoreId } from "../core/ids.ts";

/** A score that is stored beside the ones of the close. */
export interface AddedScore {
  /** The score, or the event that it was sent as; unique within its run. */
  readonly id: ScoreId | EventId;
  /** What it measures. */
  readonly name: string;
  /** What it says. */
  readonly value: number | boolean;
  /** What it comes from. */
  readonly source: string;
  /** Arrival by the server's clock, unix milliseconds. */
  readonly receivedAt: number;
}

/** What there is of scores that were added to a run. */
export interface ScoreSum {
  /** How many. */
  readonly count: number;
  /** Arrival of the first, unix milliseconds. */
  readonly firstAt: number;
  /** Arrival of the latest, unix milliseconds. */
  readonly latestAt: number;
  /** How many events were scores too many; absent for none. */
  readonly dropped?: number;
}

/** Source of a score that was sent as an event. */
const EVENT_SOURCE = "event";

/** Adds to the sum of a run's scores; the run has room for them. */
export function addToSum(sum: ScoreSum | undefined, count: number, receivedAt: number): ScoreSum {
  return {
    ...sum,
    count: (sum?.count ?? 0) + count,
    firstAt: sum?.firstAt ?? receivedAt,
    // A clock that was set back makes nothing younger.
    latestAt: Math.max(sum?.latestAt ?? 0, receivedAt),
  };
}

/** Scores among new events, as they are stored. */
export interface EventScores {
  /** Those the run has room for; the first of a batch come first. */
  readonly added: readonly AddedScore[];
  /** How many it has no room for. */
  readonly dropped: number;
  /** The sum that the ledger keeps. */
  readonly sum: ScoreSum | undefined;
}

/** Finds the scores among events that are new to a run: each is stored once, as its event is. */
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
