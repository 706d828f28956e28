/**
 * Scores added to a run one by one, at any time.
 *
 * Each score is a part of the run, like a batch of events: written once, in any order. The run's
 * ledger counts the scores, so one check of its version commits each.
 *
 * @module
 */
import type { Team } from "../teams/team.ts";
import type { Problem } from "../core/errors.ts";
import { ADDED_SCORES_MAX } from "../core/limits.ts";
import { type AddedScore, addToSum } from "./added_scores.ts";
import type { Conflict } from "./decide.ts";
import type { RunId, ScoreId } from "../core/ids.ts";
import type { EventLedger } from "./ledger.ts";

/** A checked `POST /v1/runs/{id}/scores`. */
export interface ScoreRequest {
  /** Id of the score; unique within its run. */
  readonly id: ScoreId;
  /** Name of the metric it measures. */
  readonly name: string;
  /** Value of the score. */
  readonly value: number | boolean;
  /** Source of the score. */
  readonly source: string;
}

/** Outcome of a call. `stored` answers 202, `replayed` answers 200. */
export type ScoreOutcome =
  | { readonly kind: "stored" | "replayed"; readonly score: AddedScore }
  /** A score with this id is stored, and the field differs. */
  | { readonly kind: "differs"; readonly field: "name" | "value" }
  | { readonly kind: "refused"; readonly problem: Problem }
  | Conflict;

/** Stores scores. Its method rejects with `StorageUnavailable` when the store fails. */
export interface ScoreStore {
  /** Adds a score to a run, which need not be open yet. Resolves once the score is on disk. */
  add(team: Team, id: RunId, request: ScoreRequest, receivedAt: number): Promise<ScoreOutcome>;
}

/** Outcome of a call and, for a new score, the ledger that counts it. */
export interface ScoreDecision {
  /** Response to the caller; for a new score, valid once it is on disk. */
  readonly outcome: ScoreOutcome;
  /** Ledger to write; absent if nothing changes. */
  readonly ledger?: EventLedger;
}

/**
 * Decides a score: the first score of an id wins, and the same name and value again is a replay.
 *
 * @param stored score stored under the id, if any
 */
export function decideScore(
  ledger: EventLedger,
  stored: AddedScore | null,
  request: ScoreRequest,
  receivedAt: number,
): ScoreDecision {
  if (stored !== null) return { outcome: compare(stored, request) };
  const { scores } = ledger;
  if (scores !== undefined && scores.count >= ADDED_SCORES_MAX) {
    return { outcome: { kind: "refused", problem: FULL } };
  }
  return {
    outcome: { kind: "stored", score: { ...request, receivedAt } },
    ledger: {
      ...ledger,
      scores: addToSum(scores, 1, receivedAt),
    },
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
