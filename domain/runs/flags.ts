/**
 * Flags of a run: anomalies, and losses of data the client sent. Traits by which lists find it.
 *
 * @module
 */
import type { Opening } from "./run.ts";
import type { RunHead } from "./cost.ts";
import type { LedgerAges } from "./ledger.ts";

/** All flags of a run, in display order. */
export const RUN_FLAGS = [
  "agent_cap",
  "batch_rate_missing",
  "dropped_fields",
  "future_start",
  "ignored_fields",
  "negative_duration",
  "no_opening",
  "no_tokens",
  "truncated",
  "twins_undecided",
  "unreadable_figures",
] as const;

/**
 * One of {@link RUN_FLAGS}: `agent_cap`: the limit of agents left a trace without its agent;
 * `batch_rate_missing`: a batch API call was priced at the full rate;
 * `dropped_fields`: unreadable fields were dropped; `future_start`: the run starts more than a day
 * after its arrival; `ignored_fields`: a call has fields that it does not know; `negative_duration`:
 * it ended before it started; `no_opening`: the opening has not arrived; `no_tokens`: a call has no
 * token counts; `truncated`: a value was cut to its limit; `twins_undecided`: a trace of several
 * instrumentations has too many calls to find those that are told twice; `unreadable_figures`: an event has numbers
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
  if (ages.trace?.isAgentRefused) flags.add("agent_cap");
  if (ages.trace?.isUndecided) flags.add("twins_undecided");
  if (lacksOpening(opening, ages)) flags.add("no_opening");
  if (opening !== null) {
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

/** Kinds of calls that open a run. */
export const RUN_KINDS = ["run", "heartbeat"] as const;

/** One of {@link RUN_KINDS}. */
export type RunKind = typeof RUN_KINDS[number];

/** Traits that runs can be filtered by. */
export const RUN_TRAITS = ["unpriced", "failed_check", "judged", "late", "orphan"] as const;

/**
 * One of {@link RUN_TRAITS}: `unpriced`: it called a model without a price; `failed_check`: it
 * failed a check; `judged`: a judge scored it; `late`: events arrived after its close; `orphan`: its opening has not arrived.
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
    ...ages.scores?.judged === undefined ? [] : ["judged" as const],
    ...isLate ? ["late" as const] : [],
    ...lacksOpening(opening, ages) ? ["orphan" as const] : [],
  ];
}

/** Returns whether the opening of a run has not arrived; a trace needs none. */
function lacksOpening(opening: Opening | null, { trace }: LedgerAges): boolean {
  return opening === null && trace?.begin === undefined;
}

/** Returns the arrival of the earliest part still stored, unix milliseconds. */
export function firstArrivalOf({ parts: { opening, closing }, ages }: RunHead): number {
  const { oldestAt, latestAt, scores } = ages;
  const arrivals = [opening?.receivedAt, closing?.receivedAt, oldestAt ?? latestAt];
  arrivals.push(scores?.firstAt);
  return Math.min(...arrivals.filter((at) => typeof at === "number"));
}
