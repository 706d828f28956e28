/**
 * Cost and usage of a run: the sums of its events and, for a heartbeat, the values that it reports. Its
 * flags, which are anomalies and losses of data that the client sent, and traits by which lists find it.
 *
 * @module
 */
import type { EventTotals } from "./event_totals.ts";
import {
  addModelUsage,
  isRest,
  isSameModel,
  type ModelName,
  type ModelUsage,
  REST,
} from "./model_usage.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { LedgerAges } from "./ledger.ts";
import { isApart } from "../pricing/price.ts";
import {
  countsTokens,
  heartbeatPrice,
  heartbeatUsage,
  isStated,
  type Opening,
  reportedCall,
  reportedCost,
  type ReportedPrice,
  reportedTokens,
  type RunParts,
} from "./run.ts";

/** Everything a run's cost is computed from. */
export interface RunHead {
  /** Opening and close. */
  readonly parts: RunParts;
  /** Totals over the events. */
  readonly totals: EventTotals;
  /** Number of stored event batches. */
  readonly batchCount: number;
  /** Arrival times of its batches, and the aggregate of its added scores. */
  readonly ages: LedgerAges;
  /** Number of times its events or tokens were repriced. */
  readonly repricings: number;
  /**
   * Price of a heartbeat's tokens after repricing: null when the card had no price, undefined when
   * they were never repriced.
   */
  readonly repriced: ReportedPrice | null | undefined;
}

/** Cost of a run. */
export interface CostSum {
  /** Total in picodollars. */
  readonly amount: Picodollars;
  /** Calls by model. Any cost beyond their total belongs to no model. */
  readonly models: readonly ModelUsage[];
  /** Number of calls: those of its events, plus one for a heartbeat that names a model. */
  readonly calls: number;
  /** Name of the line with the heartbeat's call; absent for none. */
  readonly reported?: ModelName | undefined;
  /** Names of models without a price, sorted. */
  readonly unpricedModels: readonly string[];
  /** Anomalies in the data the cost was computed from (decisions, section 5). */
  readonly flags: readonly CostFlag[];
}

/**
 * An anomaly of a cost. If cached tokens exceed input tokens, the two are priced as separate
 * counts.
 */
export type CostFlag = "cached_exceeds_input";

/**
 * Usage of a run: the totals of its events plus, for a heartbeat, the usage it reported, which is a
 * model call but no event (R38).
 */
export type RunUsage = Omit<
  EventTotals,
  "cost" | "cachedExceedsInput" | "fullRateBatchCalls" | "flags" | "models" | "failedTool"
>;

/**
 * Computes a run's cost. A stated cost overrides all pricing (pricing rule 1), and both it and the
 * tokens of a heartbeat override the calls of events (R34).
 */
export function costOfRun(head: RunHead): CostSum {
  const { parts, totals, repriced } = head;
  const isCovered = coversCalls(parts);
  const own = reportedUsage(head);
  // Calls that a heartbeat covers count as usage only; they add no cost.
  const ofEvents = isCovered
    ? totals.models.map((line) => ({ ...line, priced: true, cost: 0n }))
    : totals.models;
  const models = [...ofEvents, ...own === null ? [] : [own]]
    // Named models first: once an "other models" line exists, a later name would be merged into it.
    .sort((a, b) => Number(isRest(a)) - Number(isRest(b)))
    .reduce<readonly ModelUsage[]>(addModelUsage, []);
  return {
    amount: reportedCost(parts, repriced) + (isCovered ? 0n : totals.cost),
    models,
    calls: totals.llmCalls + (own === null ? 0 : 1),
    ...own === null ? {} : { reported: lineNameOf(models, own) },
    unpricedModels: unpricedUsageOf(models),
    flags: exceedsInput(head) ? ["cached_exceeds_input"] : [],
  };
}

/** Returns the name of the line that has a call. */
function lineNameOf(lines: readonly ModelUsage[], call: ModelUsage): ModelName {
  const { provider, model } = lines.find((line) => isSameModel(line, call)) ?? REST;
  return { provider, model };
}

/**
 * Returns whether heartbeats say what their run costs, by a stated cost or by the tokens of a model:
 * then the calls of its events add no cost (R34).
 */
export function coversCalls(parts: RunParts): boolean {
  return isStated(parts) || reportedCall(heartbeatUsage(parts)) !== null;
}

/** Returns the sorted names of models without a price among a run's lines. */
export function unpricedUsageOf(models: readonly ModelUsage[]): string[] {
  const unpriced = new Set(models.flatMap(({ priced, model }) => priced === false ? [model] : []));
  return [...unpriced].sort();
}

/** Computes a run's usage. */
export function usageOfRun(head: RunHead): RunUsage {
  const { parts, totals } = head;
  const { events, llmCalls, toolCalls, logs, errors } = totals;
  const own = reportedTokens(heartbeatUsage(parts));
  return {
    events,
    llmCalls: llmCalls + (reportedUsage(head) === null ? 0 : 1),
    toolCalls,
    logs,
    errors,
    inputTokens: totals.inputTokens + BigInt(own.inputTokens),
    outputTokens: totals.outputTokens + BigInt(own.outputTokens),
    cachedInputTokens: totals.cachedInputTokens + BigInt(own.cachedInputTokens),
  };
}

/**
 * Returns the usage line of a heartbeat, which counts as one call if it names a model and tokens or
 * a cost.
 */
function reportedUsage({ parts, repriced }: RunHead): ModelUsage | null {
  const reported = heartbeatUsage(parts);
  const { cost, model, provider = null } = reported;
  if (model === undefined || (!countsTokens(reported) && cost === undefined)) return null;
  const { inputTokens, outputTokens, cachedInputTokens } = reportedTokens(reported);
  return {
    provider,
    model,
    priced: cost !== undefined || heartbeatPrice(parts, repriced) !== null,
    calls: 1,
    inputTokens: BigInt(inputTokens),
    outputTokens: BigInt(outputTokens),
    cachedInputTokens: BigInt(cachedInputTokens),
    cost: reportedCost(parts, repriced),
  };
}

function exceedsInput({ parts, totals }: RunHead): boolean {
  const reported = heartbeatUsage(parts);
  return totals.cachedExceedsInput || countsTokens(reported) && isApart(reportedTokens(reported));
}

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
 * its checks; see `check_result.ts`.
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
