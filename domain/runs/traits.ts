/**
 * What runs are told apart by besides their labels: which call opened them, and what is special of them.
 *
 * @module
 */
import type { RunHead } from "./cost.ts";

/** Which call a run was opened by. */
export const RUN_KINDS = ["run", "heartbeat"] as const;

/** One of {@link RUN_KINDS}. */
export type RunKind = typeof RUN_KINDS[number];

/** What a run can be looked for by, besides its labels. */
export const RUN_TRAITS = ["unpriced", "failed_check", "late", "orphan"] as const;

/**
 * One of {@link RUN_TRAITS}: `unpriced` called a model without a price, `failed_check` failed a check,
 * `late` got events after its close, `orphan` has no opening yet.
 */
export type RunTrait = typeof RUN_TRAITS[number];

/**
 * What is special of a run. No stage checks runs yet, so none has failed a check.
 *
 * @param unpricedModels models it called that have no price
 */
export function traitsOf(
  { parts: { opening, closing }, ages }: RunHead,
  unpricedModels: readonly string[],
): RunTrait[] {
  const isLate = closing !== null && (ages.latestAt ?? 0) > closing.receivedAt;
  return [
    ...unpricedModels.length > 0 ? ["unpriced" as const] : [],
    ...isLate ? ["late" as const] : [],
    ...opening === null ? ["orphan" as const] : [],
  ];
}

/** Arrival of the first part that is still there, unix milliseconds. */
export function firstArrivalOf({ parts: { opening, closing }, ages }: RunHead): number {
  const { oldestAt, latestAt, scores } = ages;
  const arrivals = [opening?.receivedAt, closing?.receivedAt, oldestAt ?? latestAt];
  arrivals.push(scores?.firstAt);
  return Math.min(...arrivals.filter((at) => typeof at === "number"));
}
