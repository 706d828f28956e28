/**
 * Reprices calls by the current rate card and reports the difference.
 *
 * Only repricing changes the cost of a stored call. The result depends on the calls and the card alone,
 * so repricing is idempotent.
 *
 * @module
 */
import { addCounts } from "../core/sums.ts";
import type { LlmCall } from "../pricing/llm_call.ts";
import type { EventTotals } from "../runs/event_totals.ts";
import { addModelUsage, type ModelUsage, subtractModelUsage } from "../runs/model_usage.ts";
import type { Picodollars } from "../pricing/money.ts";
import {
  type BatchPrices,
  isPriceable,
  lacksBatchRate,
  type Priceable,
  priceEvents,
  twinIndexes,
} from "../pricing/price.ts";
import type { RateCard, RateMatch } from "../pricing/rates.ts";
import {
  heartbeatPrice,
  heartbeatUsage,
  priceReported,
  reportedCall,
  type ReportedPrice,
  type RunParts,
} from "../runs/run.ts";

/** Selection of calls to reprice. */
export interface RepriceSpec {
  /** Model as the calls named it. */
  readonly model: string;
  /** Provider as the calls named it; null for any provider. */
  readonly provider: string | null;
  /** Earliest start of runs, inclusive, unix milliseconds; null for no bound. */
  readonly from: number | null;
  /** Latest start of runs, exclusive, unix milliseconds; null for no bound. */
  readonly to: number | null;
}

/** Total of no calls. */
export const NO_CALLS = {
  /** Number of matching calls. */
  calls: 0,
  /** Cost before. */
  before: 0n,
  /** Cost after. */
  after: 0n,
};

/** Total of repriced calls. */
export type RepriceSum = Readonly<typeof NO_CALLS>;

/** Returns whether a call matches the spec. */
export function isCovered(
  spec: RepriceSpec,
  provider: string | null,
  model: string | null,
): boolean {
  return model === spec.model && (spec.provider === null || provider === spec.provider);
}

/** Result of repricing a batch. */
export interface RepricedBatch {
  /** Total of the matching calls. */
  readonly sum: RepriceSum;
  /** New prices of all events of the batch; null if none changed. */
  readonly prices: BatchPrices | null;
  /** Totals of the run with the new prices. */
  readonly totals: EventTotals;
}

/** Reprices a batch; events that do not match keep their price. */
export function repriceBatch(
  spec: RepriceSpec,
  events: readonly Priceable[],
  old: BatchPrices,
  totals: EventTotals,
  card: RateCard,
): RepricedBatch {
  const fresh = priceEvents(
    events.map((event) => isMeantEvent(spec, event) ? event : UNPRICED),
    card,
  );
  const matches = [...old.matches];
  const by = events.map((_, i) => old.by[i] ?? -1);
  const costs = events.map((_, i) => old.costs[i] ?? 0);
  let sum = NO_CALLS;
  let { models, fullRateBatchCalls } = totals;
  let changed = false;
  const twins = twinIndexes(old);
  for (const [i, { facts: { call } }] of events.entries()) {
    if (!isPriceable(call) || !isCovered(spec, call.provider, call.model)) continue;
    const match = fresh.matches[fresh.by[i] ?? -1];
    const before = BigInt(costs[i] ?? 0);
    const after = BigInt(fresh.costs[i] ?? 0);
    if (!twins.has(i)) sum = addCounts(sum, { calls: 1, before, after });
    const oldMatch = matches[by[i] ?? -1];
    const isSameRow = match?.row.id === oldMatch?.row.id && match?.isBatch === oldMatch?.isBatch;
    if (isSameRow && before === after) continue;
    changed = true;
    by[i] = match === undefined ? -1 : indexIn(matches, match);
    costs[i] = fresh.costs[i] ?? 0;
    if (twins.has(i)) continue;
    fullRateBatchCalls += Number(lacksBatchRate(call, match)) -
      Number(lacksBatchRate(call, oldMatch));
    models = addModelUsage(
      subtractModelUsage(models, lineOf(call, oldMatch !== undefined, before)),
      lineOf(call, match !== undefined, after),
    );
  }
  const cost = totals.cost + sum.after - sum.before;
  return {
    sum,
    prices: changed ? { ...old, ...usedOnly(matches, by), costs } : null,
    totals: { ...totals, cost, models, fullRateBatchCalls },
  };
}

/** Result of repricing a heartbeat. */
export interface RepricedHeartbeat {
  /** Total of its call if it matches. */
  readonly sum: RepriceSum;
  /** New price; null if the card has none; undefined if nothing changed. */
  readonly price: ReportedPrice | null | undefined;
}

/** Reprices the tokens of a heartbeat. */
export function repriceHeartbeat(
  spec: RepriceSpec,
  parts: RunParts,
  repriced: ReportedPrice | null | undefined,
  card: RateCard,
): RepricedHeartbeat {
  const call = reportedCall(heartbeatUsage(parts));
  if (call === null || !isCovered(spec, call.provider, call.model)) {
    return { sum: NO_CALLS, price: undefined };
  }
  const old = heartbeatPrice(parts, repriced);
  const price = priceReported(parts, card);
  const [before, after] = [old?.cost ?? 0n, price?.cost ?? 0n];
  const same = old?.by.row.id === price?.by.row.id && before === after;
  return { sum: { calls: 1, before, after }, price: same ? undefined : price };
}

/** Placeholder for an event that keeps its price. */
const UNPRICED: Priceable = { ts: 0, facts: {} };

function isMeantEvent(spec: RepriceSpec, { facts: { call } }: Priceable): boolean {
  return call !== undefined && isCovered(spec, call.provider, call.model);
}

/** Removes rows that no event uses. */
function usedOnly(
  matches: readonly RateMatch[],
  by: readonly number[],
): Pick<BatchPrices, "matches" | "by"> {
  const used = matches.filter((_, index) => by.includes(index));
  return { matches: used, by: by.map((index) => used.indexOf(matches[index] as RateMatch)) };
}

function indexIn<T>(list: T[], item: T): number {
  const at = list.indexOf(item);
  return at >= 0 ? at : list.push(item) - 1;
}

function lineOf(call: LlmCall & { model: string }, priced: boolean, cost: Picodollars): ModelUsage {
  return {
    provider: call.provider,
    model: call.model,
    priced,
    calls: 1,
    inputTokens: BigInt(call.inputTokens),
    outputTokens: BigInt(call.outputTokens),
    cachedInputTokens: BigInt(call.cachedInputTokens),
    cost,
  };
}
