/**
 * Totals over the events of a run.
 *
 * @module
 */
import { EVENT_FLAGS, type EventFlag, type RunEvent } from "./event.ts";
import { addModelUsage, type ModelUsage } from "./model_usage.ts";
import type { Picodollars } from "../pricing/money.ts";
import { type BatchPrices, isPriceable, lacksBatchRate } from "../pricing/price_events.ts";
import { ModelSums, TokenSums } from "./token_sums.ts";

/**
 * Totals over the events of a run. Tokens are bigints, because two legal events can exceed 2^53.
 */
export interface EventTotals {
  /** Number of events. */
  readonly events: number;
  /** Number of events of type `llm_call`. */
  readonly llmCalls: number;
  /** Number of events of type `tool_call`. */
  readonly toolCalls: number;
  /** Number of events of type `log`. */
  readonly logs: number;
  /** Number of events that report a failure. */
  readonly errors: number;
  /** Input tokens. */
  readonly inputTokens: bigint;
  /** Output tokens. */
  readonly outputTokens: bigint;
  /** Cached input tokens. */
  readonly cachedInputTokens: bigint;
  /** Cost of all priced events: the total of `models`. */
  readonly cost: Picodollars;
  /** True if a call reported more cached tokens, read and written, than input tokens. */
  readonly cachedExceedsInput: boolean;
  /** Number of batch API calls priced at full rates. */
  readonly fullRateBatchCalls: number;
  /** Flags of any of the events, in the order of {@link EVENT_FLAGS}. */
  readonly flags: readonly EventFlag[];
  /** Calls with tokens, by model and by whether the model had a price. */
  readonly models: readonly ModelUsage[];
}

/** Totals of no events. */
export const NO_EVENTS: EventTotals = {
  events: 0,
  llmCalls: 0,
  toolCalls: 0,
  logs: 0,
  errors: 0,
  inputTokens: 0n,
  outputTokens: 0n,
  cachedInputTokens: 0n,
  cost: 0n,
  cachedExceedsInput: false,
  fullRateBatchCalls: 0,
  flags: [],
  models: [],
};

/** A flag of a run's events: one of their own, or batch API calls priced at full rates. */
export type TotalsFlag = EventFlag | "batch_rate_missing";

/** Returns the flags of the events counted so far. */
export function flagsOfTotals({ flags, fullRateBatchCalls }: EventTotals): readonly TotalsFlag[] {
  return fullRateBatchCalls === 0 ? flags : ["batch_rate_missing", ...flags];
}

/** Adds a batch to the totals. Models are merged once per batch, not once per event. */
export function addEvents(
  totals: EventTotals,
  events: readonly RunEvent[],
  prices: BatchPrices,
): EventTotals {
  const sum: { -readonly [Name in keyof EventTotals]: EventTotals[Name] } = { ...totals };
  const all = new TokenSums();
  const models = new ModelSums();
  for (let i = 0; i < events.length; i++) {
    const { type, flags, facts: { call, error } } = events[i] as RunEvent;
    sum.events++;
    if (type === "llm_call") sum.llmCalls++;
    else if (type === "tool_call") sum.toolCalls++;
    else if (type === "log") sum.logs++;
    if (error) sum.errors++;
    if (flags !== undefined) sum.flags = addFlags(sum.flags, flags);
    if (call === undefined) continue;
    all.add(call, 0);
    sum.cachedExceedsInput ||= call.cachedInputTokens + call.cacheWriteTokens > call.inputTokens;
    if (!isPriceable(call)) continue;
    const match = prices.matches[prices.by[i] ?? -1];
    const priced = match !== undefined;
    if (lacksBatchRate(call, match)) sum.fullRateBatchCalls++;
    models.of(call.model, call.provider, priced).add(call, prices.costs[i] ?? 0);
  }
  const { inputTokens, outputTokens, cachedInputTokens } = all.total();
  sum.inputTokens += inputTokens;
  sum.outputTokens += outputTokens;
  sum.cachedInputTokens += cachedInputTokens;
  for (const usage of models.usages()) {
    sum.cost += usage.cost;
    sum.models = addModelUsage(sum.models, usage);
  }
  return sum;
}

function addFlags(flags: readonly EventFlag[], added: readonly EventFlag[]): readonly EventFlag[] {
  if (added.every((flag) => flags.includes(flag))) return flags;
  return EVENT_FLAGS.filter((flag) => flags.includes(flag) || added.includes(flag));
}
