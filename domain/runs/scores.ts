/**
 * Scores added to a run after or apart from its close: by a separate call, or as events (R17).
 *
 * Each score is a part of the run, like a batch of events: written once, in any order. The run's
 * ledger counts the scores, so one check of its version commits each.
 *
 * @module
 */
import type { Problem } from "../core/errors.ts";
import { ADDED_SCORES_MAX } from "../core/limits.ts";
import type { Conflict } from "./decide.ts";
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
  /** Instant of the event that carried it, by the client's clock, unix milliseconds; else absent. */
  readonly ts?: number;
}

/** Aggregate of the scores added to a run. */
export interface ScoreSum {
  /** Number of stored scores. */
  readonly count: number;
  /** Arrival of the first, unix milliseconds. */
  readonly firstAt: number;
  /** Arrival of the latest, unix milliseconds. */
  readonly latestAt: number;
  /** Number of those that judges added; absent for none. */
  readonly judged?: number;
  /** Number of score events dropped because the run was full; absent for none. */
  readonly dropped?: number;
}

/** Source of a score that was sent as an event. */
const EVENT_SOURCE = "event";

/** A checked `POST /v1/runs/{id}/scores`. */
export type ScoreRequest = Omit<AddedScore, "id" | "receivedAt" | "ts"> & { readonly id: ScoreId };

/** Outcome of a call. `stored` answers 202, `replayed` answers 200. */
export type ScoreOutcome =
  | { readonly kind: "stored" | "replayed"; readonly score: AddedScore }
  /** A score with this id is stored, and the field differs. */
  | { readonly kind: "differs"; readonly field: "name" | "value" }
  | { readonly kind: "refused"; readonly problem: Problem }
  | Conflict;

/**
 * Decides a score: the first score of an id wins, and the same name and value again is a replay.
 *
 * @param stored score stored under the id, if any
 * @param reserved scores beyond the maximum of others that a judge may add; 0 for others
 * @returns the response, for a new score valid once it is on disk, and the ledger to write, if any
 */
export function decideScore<Ledger extends { readonly scores?: ScoreSum }>(
  ledger: Ledger,
  stored: AddedScore | null,
  request: ScoreRequest,
  receivedAt: number,
  reserved = 0,
): { readonly outcome: ScoreOutcome; readonly ledger?: Ledger } {
  if (stored !== null) return { outcome: compare(stored, request) };
  const { scores } = ledger;
  if (scores !== undefined && scores.count >= ADDED_SCORES_MAX + reserved) {
    return { outcome: { kind: "refused", problem: FULL } };
  }
  const sum = addToSum(scores, 1, receivedAt);
  // Only judges have scores reserved: a client may name any source.
  const judged = reserved > 0 ? { judged: (sum.judged ?? 0) + 1 } : {};
  return {
    outcome: { kind: "stored", score: { ...request, receivedAt } },
    ledger: { ...ledger, scores: { ...sum, ...judged } },
  };
}

/** Sorts scores by arrival, then id. */
export function inOrder(scores: readonly AddedScore[]): AddedScore[] {
  return scores.toSorted((a, b) => a.receivedAt - b.receivedAt || (a.id < b.id ? -1 : 1));
}

const FULL: Problem = {
  code: "score_cap_reached",
  message: `Cannot add another score: the run has ${ADDED_SCORES_MAX}, the maximum; ` +
    "combine several scores into one, or send scores as events",
};

function compare(stored: AddedScore, { name, value }: ScoreRequest): ScoreOutcome {
  if (stored.name !== name) return { kind: "differs", field: "name" };
  if (stored.value !== value) return { kind: "differs", field: "value" };
  return { kind: "replayed", score: stored };
}

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
  for (const { id, ts, score } of events) {
    if (score === undefined) continue;
    const [name, value] = score;
    all.push({ id, name, value, source: EVENT_SOURCE, receivedAt, ts });
  }
  if (all.length === 0) return { added: [], dropped: 0, sum };
  const added = all.slice(0, Math.max(0, ADDED_SCORES_MAX - (sum?.count ?? 0)));
  const dropped = all.length - added.length;
  const next = addToSum(sum, added.length, receivedAt);
  const droppedAll = (sum?.dropped ?? 0) + dropped;
  return { added, dropped, sum: droppedAll === 0 ? next : { ...next, dropped: droppedAll } };
}
