/**
 * Flags of a run: what is odd about it, or was lost of what was sent.
 *
 * @module
 */
import { flagsOfTotals } from "./event_totals.ts";
import type { PartFlag } from "../core/losses.ts";
import type { Opening } from "./run.ts";
import type { RunHead } from "./cost.ts";

/** All flags of a run, in the order reads show them. */
export const RUN_FLAGS = [
  "batch_rate_missing",
  "dropped_fields",
  "future_start",
  "negative_duration",
  "no_opening",
  "no_tokens",
  "truncated",
  "unreadable_figures",
] as const;

/**
 * One of {@link RUN_FLAGS}: `batch_rate_missing` priced a batch call at the full rate, `dropped_fields`
 * lost fields that could not be read, `future_start` starts more than a day after its arrival,
 * `negative_duration` ended before it began, `no_opening` has no opening yet, `no_tokens` has a call
 * without token counts, `truncated` has a value that was cut to its limit, `unreadable_figures` has an
 * event with figures that could not be read.
 */
export type RunFlag = typeof RUN_FLAGS[number];

/** Milliseconds that a start may lie after its arrival before the run is sorted by its arrival (R14). */
const FUTURE_START_MS = 24 * 3_600_000;

/** Returns the flags of a run, sorted. */
export function flagsOf({ parts: { opening, closing }, ages, totals }: RunHead): RunFlag[] {
  const found = new Set<RunFlag>([...lossesOf(opening, closing), ...flagsOfTotals(totals)]);
  if ((ages.scores?.dropped ?? 0) > 0) found.add("dropped_fields");
  if (opening === null) found.add("no_opening");
  else {
    if (isFutureStart(opening)) found.add("future_start");
    if (closing !== null && closing.finishedAt < opening.startedAt) found.add("negative_duration");
  }
  return RUN_FLAGS.filter((flag) => found.has(flag));
}

/**
 * Returns the instant that a run is sorted and counted by: its start by the client's clock, or its
 * arrival where that start is more than a day after it (R14).
 */
export function sortedAtOf(opening: Pick<Opening, "startedAt" | "receivedAt">): number {
  return isFutureStart(opening) ? opening.receivedAt : opening.startedAt;
}

function isFutureStart({ startedAt, receivedAt }: Pick<Opening, "startedAt" | "receivedAt">) {
  return startedAt - receivedAt > FUTURE_START_MS;
}

function lossesOf(
  ...parts: readonly ({ readonly flags?: readonly PartFlag[] | undefined } | null)[]
): readonly PartFlag[] {
  return parts.flatMap((part) => part?.flags ?? []);
}
