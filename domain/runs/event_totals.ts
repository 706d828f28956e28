/**
 * Totals over the events of a run.
 *
 * @module
 */
import { EVENT_FLAGS, type EventFlag, type RunEvent } from "./event.ts";
import { addModelUsage, type CallTotals, type ModelUsage } from "./model_usage.ts";
import { type BatchPrices, isApart, lacksBatchRate, twinIndexes } from "../pricing/price.ts";
import type { LlmCall } from "../pricing/llm_call.ts";

/**
 * Totals over the events of a run. Tokens are bigints, because two legal events can exceed 2^53.
 */
export interface EventTotals extends Omit<CallTotals, "calls"> {
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
  /** True if a call reported more cached tokens, read and written, than input tokens. */
  readonly cachedExceedsInput: boolean;
  /** Number of batch API calls priced at full rates. */
  readonly fullRateBatchCalls: number;
  /** Flags of any of the events, in the order of {@link EVENT_FLAGS}. */
  readonly flags: readonly EventFlag[];
  /** Calls with tokens, by model and by whether the model had a price. */
  readonly models: readonly ModelUsage[];
  /** Latest failed tool call that names its tool; absent for none. */
  readonly failedTool?: FailedTool;
}

/** A failed tool call. */
export interface FailedTool extends Pick<RunEvent, "ts" | "id"> {
  /** Name of the tool, cut to `TOOL_NAME_CHARS_MAX`. */
  readonly name: string;
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

/** Adds a batch to the totals. Models are merged once per batch, not once per event. */
export function addEvents(
  totals: EventTotals,
  events: readonly RunEvent[],
  prices: BatchPrices,
): EventTotals {
  const sum: { -readonly [Name in keyof EventTotals]: EventTotals[Name] } = { ...totals };
  const all = new TokenSums();
  const models = new ModelSums();
  const twins = twinIndexes(prices);
  for (let i = 0; i < events.length; i++) {
    const { id, ts, type, flags, facts: { call, error, failedTool: name } } = events[i] as RunEvent;
    sum.events++;
    if (twins.has(i)) continue;
    if (type === "llm_call") sum.llmCalls++;
    else if (type === "tool_call") sum.toolCalls++;
    else if (type === "log") sum.logs++;
    if (error) sum.errors++;
    if (name !== undefined && isLater({ ts, id }, sum.failedTool)) {
      sum.failedTool = { ts, id, name };
    }
    if (flags !== undefined) sum.flags = addFlags(sum.flags, flags);
    if (call === undefined) continue;
    all.add(call, 0);
    sum.cachedExceedsInput ||= isApart(call);
    if (call.model === null) continue;
    const match = prices.matches[prices.by[i] ?? -1];
    const priced = call.counted ? match !== undefined : null;
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

/** Returns whether an event is after another, by its instant and then by its id: not by arrival. */
function isLater(event: Pick<RunEvent, "ts" | "id">, other: FailedTool | undefined): boolean {
  if (other === undefined) return true;
  return event.ts > other.ts || event.ts === other.ts && event.id > other.id;
}

function addFlags(flags: readonly EventFlag[], added: readonly EventFlag[]): readonly EventFlag[] {
  if (added.every((flag) => flags.includes(flag))) return flags;
  return EVENT_FLAGS.filter((flag) => flags.includes(flag) || added.includes(flag));
}

/** Adds integers exactly. The sum is a bigint only beyond 2^53, because bigints take ten times as long. */
function exactSum(a: number | bigint, b: number | bigint): number | bigint {
  const isSafe = typeof a === "number" && typeof b === "number" && a + b <= Number.MAX_SAFE_INTEGER;
  return isSafe ? a + b : BigInt(a) + BigInt(b);
}

/** Accumulates the totals of calls. */
export class TokenSums {
  #calls = 0;
  #input: number | bigint = 0;
  #output: number | bigint = 0;
  #cached: number | bigint = 0;
  #cost: number | bigint = 0;

  /** Adds one call at its cost in picodollars. */
  add(call: LlmCall, cost: number | bigint): void {
    this.#calls++;
    this.#input = exactSum(this.#input, call.inputTokens);
    this.#output = exactSum(this.#output, call.outputTokens);
    this.#cached = exactSum(this.#cached, call.cachedInputTokens);
    this.#cost = exactSum(this.#cost, cost);
  }

  /** Returns the current totals. */
  total(): CallTotals {
    return {
      calls: this.#calls,
      inputTokens: BigInt(this.#input),
      outputTokens: BigInt(this.#output),
      cachedInputTokens: BigInt(this.#cached),
      cost: BigInt(this.#cost),
    };
  }
}

/** Accumulates totals per model of a batch; calls with and without a price are separate. */
export class ModelSums {
  readonly #models: (Omit<ModelUsage, keyof CallTotals> & { readonly sums: TokenSums })[] = [];

  /**
   * Returns the accumulator of a model. Batches have few models, so a linear search is fastest.
   */
  of(model: string, provider: string | null, priced: ModelUsage["priced"]): TokenSums {
    for (const entry of this.#models) {
      const same = entry.model === model && entry.provider === provider &&
        entry.priced === priced;
      if (same) return entry.sums;
    }
    const sums = new TokenSums();
    this.#models.push({ model, provider, priced, sums });
    return sums;
  }

  /** Returns the usage by model. */
  usages(): ModelUsage[] {
    return this.#models.map(({ sums, ...name }) => ({ ...name, ...sums.total() }));
  }
}
