/**
 * Results of judges, as records show them; see `domain/judges/`.
 *
 * @module
 */
import type { Picodollars } from "../pricing/money.ts";

/** States of a result: `failed` and `skipped` have a reason. */
export const JUDGE_STATES = ["pending", "done", "failed", "skipped"] as const;

/** Result of one judge for one run. */
export interface JudgeResult {
  /** Slug of the judge. */
  readonly judge: string;
  /** Version of the judge; null before the first look. */
  readonly version: number | null;
  /** State. */
  readonly state: typeof JUDGE_STATES[number];
  /** Why there is no value; null if there is one, or while it is pending. */
  readonly reason: string | null;
  /** Value as the model gave it; null without one. */
  readonly value: number | boolean | null;
  /** Value on a scale from 0 to 1. */
  readonly score: number | null;
  /** True if the score is at least `pass_at`. */
  readonly passed: boolean | null;
  /** The model's words; empty once the payload is removed. */
  readonly reasoning: string | null;
  /** Model that was asked. */
  readonly model: string | null;
  /** Picodollars of all calls. */
  readonly cost: Picodollars;
  /** True if a part of the cost is the worst case, because no answer said what a call cost. */
  readonly isEstimated: boolean;
  /** Milliseconds of the last call. */
  readonly latencyMs: number | null;
  /** Calls so far. */
  readonly tries: number;
  /** Time of the end, unix milliseconds; null until then. */
  readonly at: number | null;
  /** Revision of the run's cost that was judged. */
  readonly revision: number | null;
}
