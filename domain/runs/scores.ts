/**
 * Scores that are added to a run one by one, whenever somebody has judged it.
 *
 * Each is a part of the run as a batch of events is: written once, in any order with all others. The
 * run's ledger counts them, so one check on its version settles each.
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
  /** The score; unique within its run. */
  readonly id: ScoreId;
  /** What it measures. */
  readonly name: string;
  /** What it says. */
  readonly value: number | boolean;
  /** What it comes from. */
  readonly source: string;
}

/** What a call came to. `stored` answers 202, `replayed` answers 200. */
export type ScoreOutcome =
  | { readonly kind: "stored" | "replayed"; readonly score: AddedScore }
  /** A score of this id is stored that differs in a field. */
  | { readonly kind: "differs"; readonly field: "name" | "value" }
  | { readonly kind: "refused"; readonly problem: Problem }
  | Conflict;

/** Takes scores. Its method rejects with `StorageUnavailable` when the store fails. */
export interface ScoreStore {
  /** Adds a score to a run; it need not be open yet. Answers once it is on disk. */
  add(team: Team, id: RunId, request: ScoreRequest, receivedAt: number): Promise<ScoreOutcome>;
}

/** What is to be told, and for a score that is new the ledger that counts it. */
export interface ScoreDecision {
  /** What the caller is told, of a new one once it is on disk. */
  readonly outcome: ScoreOutcome;
  /** The ledger to write; absent when nothing changes. */
  readonly ledger?: EventLedger;
}

/**
 * Decides a score: the first of an id wins, the same name and value again is a replay.
 *
 * @param known the score that is stored under the id
 */
export function decideScore(
  ledger: EventLedger,
  known: AddedScore | null,
  request: ScoreRequest,
  receivedAt: number,
): ScoreDecision {
  if (known !== null) return { outcome: compare(known, request) };
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

/** Scores in the order of their arrival. */
export function inOrder(scores: readonly AddedScore[]): AddedScore[] {
  return scores.toSorted((a, b) => a.receivedAt - b.receivedAt || (a.id < b.id ? -1 : 1));
}

const FULL: Problem = {
  code: "score_cap_reached",
  message: `Cannot add another score: the run has ${ADDED_SCORES_MAX}, the most of one run; ` +
    "send what several come to as one, or send them as events",
};

function compare(known: AddedScore, { name, value }: ScoreRequest): ScoreOutcome {
  if (known.name !== name) return { kind: "differs", field: "name" };
  if (known.value !== value) return { kind: "differs", field: "value" };
  return { kind: "replayed", score: known };
}
