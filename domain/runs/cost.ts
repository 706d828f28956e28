/**
 * What a run cost and used: the sums of its events and, for a heartbeat, what it reports.
 *
 * @module
 */
import type { EventTotals } from "./event_totals.ts";
import { addModelUsage, isRest, type ModelUsage } from "./model_usage.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { LedgerAges } from "./payload.ts";
import {
  heartbeatPrice,
  reportedBy,
  reportedCost,
  type ReportedPrice,
  type RunParts,
} from "./run.ts";

/** Everything a run's cost follows from. */
export interface RunHead {
  /** Opening and close. */
  readonly parts: RunParts;
  /** Sums over the events. */
  readonly totals: EventTotals;
  /** How many batches of events are stored. */
  readonly batchCount: number;
  /** When its batches arrived, and the scores that were added to it. */
  readonly ages: LedgerAges;
  /** How often events or tokens of it were priced anew. */
  readonly repricings: number;
  /**
   * What a heartbeat's tokens cost since they were priced anew: null when the card had no price then,
   * undefined when they were not.
   */
  readonly repriced: ReportedPrice | null | undefined;
}

/** What a run cost. */
export interface CostSum {
  /** The cost. */
  readonly amount: Picodollars;
  /** Its calls by model; what the cost is more than their sum belongs to no model. */
  readonly models: readonly ModelUsage[];
  /** How many calls: those of its events, and a heartbeat that names a model is one. */
  readonly calls: number;
  /** Models without a price, by name. */
  readonly unpricedModels: readonly string[];
  /** Oddities in what the cost was computed from (decisions, section 5). */
  readonly flags: readonly CostFlag[];
}

/** An oddity of a cost: more cached than input tokens are taken as reported apart. */
export type CostFlag = "cached_exceeds_input";

/** What a run used: the sums of its events, and for a heartbeat what it reported. */
export type RunUsage = Omit<
  EventTotals,
  "cost" | "cachedExceedsInput" | "fullRateBatchCalls" | "flags" | "models"
>;

/** Sums up a run's cost. A stated cost wins over everything that would price it (pricing rule 1). */
export function costOfRun(head: RunHead): CostSum {
  const { parts, totals, repriced } = head;
  const stated = statedCost(parts) !== undefined;
  const own = reportedUsage(head);
  // With a stated cost the calls say what was used, not what it cost.
  const ofEvents = stated
    ? totals.models.map((line) => ({ ...line, priced: true, cost: 0n }))
    : totals.models;
  const models = [...ofEvents, ...own === null ? [] : [own]]
    // The names first: behind a rest a name would join it.
    .sort((a, b) => Number(isRest(a)) - Number(isRest(b)))
    .reduce<readonly ModelUsage[]>(addModelUsage, []);
  return {
    amount: reportedCost(parts, repriced) + (stated ? 0n : totals.cost),
    models,
    calls: totals.llmCalls + (own === null ? 0 : 1),
    unpricedModels: unpricedUsageOf(models),
    flags: exceedsInput(head) ? ["cached_exceeds_input"] : [],
  };
}

/** Names of the models without a price among the lines of a run. */
export function unpricedUsageOf(models: readonly ModelUsage[]): string[] {
  const unpriced = new Set(models.flatMap(({ priced, model }) => priced ? [] : [model]));
  return [...unpriced].sort();
}

/** Sums up what a run used. */
export function usageOfRun({ parts, totals }: RunHead): RunUsage {
  const { events, llmCalls, toolCalls, logs, errors } = totals;
  const own = parts.opening?.kind === "heartbeat" ? reportedBy(parts) : {};
  return {
    events,
    llmCalls,
    toolCalls,
    logs,
    errors,
    inputTokens: totals.inputTokens + BigInt(own.inputTokens ?? 0),
    outputTokens: totals.outputTokens + BigInt(own.outputTokens ?? 0),
    cachedInputTokens: totals.cachedInputTokens + BigInt(own.cachedInputTokens ?? 0),
  };
}

/** The cost a heartbeat states; a run's own claims are not looked at (pricing rule 4). */
function statedCost(parts: RunParts): Picodollars | undefined {
  return parts.opening?.kind === "heartbeat" ? reportedBy(parts).cost : undefined;
}

/** The line of the one call that a heartbeat is, if it names a model and what it used or cost. */
function reportedUsage({ parts, repriced }: RunHead): ModelUsage | null {
  if (parts.opening?.kind !== "heartbeat") return null;
  const { cost, model, provider, ...tokens } = reportedBy(parts);
  const { inputTokens, outputTokens, cachedInputTokens } = tokens;
  const counted = (inputTokens ?? outputTokens ?? cachedInputTokens) !== undefined;
  if (model === undefined || (!counted && cost === undefined)) return null;
  return {
    provider: provider ?? null,
    model,
    priced: cost !== undefined || heartbeatPrice(parts, repriced) !== null,
    calls: 1,
    inputTokens: BigInt(inputTokens ?? 0),
    outputTokens: BigInt(outputTokens ?? 0),
    cachedInputTokens: BigInt(cachedInputTokens ?? 0),
    cost: reportedCost(parts, repriced),
  };
}

function exceedsInput({ parts, totals }: RunHead): boolean {
  if (totals.cachedExceedsInput) return true;
  if (parts.opening?.kind !== "heartbeat") return false;
  const { cachedInputTokens = 0, inputTokens = 0 } = reportedBy(parts);
  return cachedInputTokens > inputTokens;
}
