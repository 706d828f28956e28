/**
 * Flags of a run: anomalies, and losses of data the client sent.
 *
 * @module
 */
import type { Opening } from "./run.ts";
import type { RunHead } from "./cost.ts";

/** All flags of a run, in display order. */
export const RUN_FLAGS = [
  "batch_rate_missing",
  "dropped_fields",
  "future_start",
  "ignored_fields",
  "negative_duration",
  "no_opening",
  "no_tokens",
  "truncated",
  "unreadable_figures",
] as const;

/**
 * One of {@link RUN_FLAGS}: `batch_rate_missing`: a batch API call was priced at the full rate;
 * `dropped_fields`: unreadable fields were dropped; `future_start`: the run starts more than a day
 * after its arrival; `ignored_fields`: a call has fields that it does not know; `negative_duration`:
 * it ended before it started; `no_opening`: the opening has not arrived; `no_tokens`: a call has no
 * token counts; `truncated`: a value was cut to its limit; `unreadable_figures`: an event has numbers
 * that could not be read.
 */
export type RunFlag = typeof RUN_FLAGS[number];

/**
 * Maximum milliseconds from arrival to start; beyond it, the run is sorted by its arrival (R14).
 */
const FUTURE_START_MS = 24 * 3_600_000;

/** Returns the flags of a run, sorted. */
export function flagsOf({ parts: { opening, closing }, ages, totals }: RunHead): RunFlag[] {
  const losses = [opening, closing].flatMap((part) => part?.flags ?? []);
  const flags = new Set<RunFlag>([...losses, ...totals.flags]);
  if (totals.fullRateBatchCalls > 0) flags.add("batch_rate_missing");
  if ((ages.scores?.dropped ?? 0) > 0) flags.add("dropped_fields");
  if (opening === null) flags.add("no_opening");
  else {
    if (isFutureStart(opening)) flags.add("future_start");
    if (closing !== null && closing.finishedAt < opening.startedAt) flags.add("negative_duration");
  }
  return RUN_FLAGS.filter((flag) => flags.has(flag));
}

/**
 * Returns the instant a run is sorted and counted by: its start by the client's clock, or its
 * arrival if the start is more than a day later (R14).
 */
export function sortedAtOf(opening: Pick<Opening, "startedAt" | "receivedAt">): number {
  return isFutureStart(opening) ? opening.receivedAt : opening.startedAt;
}

function isFutureStart({ startedAt, receivedAt }: Pick<Opening, "startedAt" | "receivedAt">) {
  return startedAt - receivedAt > FUTURE_START_MS;
}
