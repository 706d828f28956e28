/**
 * Attributes of runs other than labels: the kind of call that opened them, and their traits.
 *
 * @module
 */
import type { RunHead } from "./cost.ts";

/** Kinds of calls that open a run. */
export const RUN_KINDS = ["run", "heartbeat"] as const;

/** One of {@link RUN_KINDS}. */
export type RunKind = typeof RUN_KINDS[number];

/** Traits that runs can be filtered by. */
export const RUN_TRAITS = ["unpriced", "failed_check", "late", "orphan"] as const;

/**
 * One of {@link RUN_TRAITS}: `unpriced`: it called a model without a price; `failed_check`: it
 * failed a check; `late`: events arrived after its close; `orphan`: its opening has not arrived.
 */
export type RunTrait = typeof RUN_TRAITS[number];

/**
 * Returns the traits of a run that follow from its parts. `failed_check` follows from the results of
 * its checks; see `judged.ts`.
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

/** Returns the arrival of the earliest part still stored, unix milliseconds. */
export function firstArrivalOf({ parts: { opening, closing }, ages }: RunHead): number {
  const { oldestAt, latestAt, scores } = ages;
  const arrivals = [opening?.receivedAt, closing?.receivedAt, oldestAt ?? latestAt];
  arrivals.push(scores?.firstAt);
  return Math.min(...arrivals.filter((at) => typeof at === "number"));
}
