/**
 * Pricing calls anew, by the card as it is now: what changes, and by how much.
 *
 * It is the one thing that changes what a stored call costs. The result follows from the calls and the
 * card alone, so doing it twice changes nothing.
 *
 * @module
 */
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
} from "../pricing/price_events.ts";
import type { RateCard, RateMatch } from "../pricing/rates.ts";
import {
  heartbeatPrice,
  priceReported,
  reportedBy,
  reportedCall,
  type ReportedPrice,
  type RunParts,
} from "../runs/run.ts";

/** Which calls to price anew. */
export interface RepriceSpec {
  /** Model as the calls named it. */
  readonly model: string;
  /** Provider as the calls named it; null for whoever served it. */
  readonly provider: string | null;
  /** Runs that started at this instant or later, unix milliseconds; null for all before `to`. */
  readonly from: number | null;
  /** Runs that started before this instant, unix milliseconds; null for all from `from` on. */
  readonly to: number | null;
}

/** What pricing calls anew comes to. */
export interface RepriceSum {
  /** Calls looked at. */
  readonly calls: number;
  /** What they cost before. */
  readonly before: Picodollars;
  /** What they cost now. */
  readonly after: Picodollars;
}

/** A sum over no calls. */
export const NO_CALLS: RepriceSum = { calls: 0, before: 0n, after: 0n };

/** Adds two sums. */
export function addRepriced(a: RepriceSum, b: RepriceSum): RepriceSum {
  return { calls: a.calls + b.calls, before: a.before + b.before, after: a.after + b.after };
}

/** Whether a call is one to price anew. */
export function isMeant(spec: RepriceSpec, provider: string | null, model: string | null): boolean {
  return model === spec.model && (spec.provider === null || provider === spec.provider);
}

/** What pricing a batch anew comes to. */
export interface RepricedBatch {
  /** The calls that were meant. */
  readonly sum: RepriceSum;
  /** The new prices of all events of the batch; null when none changed. */
  readonly prices: BatchPrices | null;
  /** The totals of the run with them. */
  readonly totals: EventTotals;
}

/** Prices a batch anew; events that are not meant keep the price they have. */
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
  for (const [i, { facts: { call } }] of events.entries()) {
    if (!isPriceable(call) || !isMeant(spec, call.provider, call.model)) continue;
    const match = fresh.matches[fresh.by[i] ?? -1];
    const before = BigInt(costs[i] ?? 0);
    const after = BigInt(fresh.costs[i] ?? 0);
    sum = addRepriced(sum, { calls: 1, before, after });
    const known = matches[by[i] ?? -1];
    const isSameRow = match?.row.id === known?.row.id && match?.isBatch === known?.isBatch;
    if (isSameRow && before === after) continue;
    changed = true;
    fullRateBatchCalls += Number(lacksBatchRate(call, match)) -
      Number(lacksBatchRate(call, known));
    models = addModelUsage(
      subtractModelUsage(models, lineOf(call, known !== undefined, before)),
      lineOf(call, match !== undefined, after),
    );
    by[i] = match === undefined ? -1 : indexIn(matches, match);
    costs[i] = fresh.costs[i] ?? 0;
  }
  const cost = totals.cost + sum.after - sum.before;
  return {
    sum,
    prices: changed ? { ...usedOnly(matches, by), costs } : null,
    totals: { ...totals, cost, models, fullRateBatchCalls },
  };
}

/** What pricing a heartbeat anew comes to. */
export interface RepricedHeartbeat {
  /** Its call, when it was meant. */
  readonly sum: RepriceSum;
  /** Its new price; null when the card has none; undefined when nothing changed. */
  readonly price: ReportedPrice | null | undefined;
}

/** Prices a heartbeat's tokens anew. */
export function repriceHeartbeat(
  spec: RepriceSpec,
  parts: RunParts,
  repriced: ReportedPrice | null | undefined,
  card: RateCard,
): RepricedHeartbeat {
  const call = parts.opening?.kind === "heartbeat" ? reportedCall(reportedBy(parts)) : null;
  if (call === null || !isMeant(spec, call.provider, call.model)) {
    return { sum: NO_CALLS, price: undefined };
  }
  const old = heartbeatPrice(parts, repriced);
  const price = priceReported(parts, card);
  const [before, after] = [old?.cost ?? 0n, price?.cost ?? 0n];
  const same = old?.by.row.id === price?.by.row.id && before === after;
  return { sum: { calls: 1, before, after }, price: same ? undefined : price };
}

/** Stands in the place of an event that keeps its price. */
const UNPRICED: Priceable = { ts: 0, facts: {} };

function isMeantEvent(spec: RepriceSpec, { facts: { call } }: Priceable): boolean {
  return call !== undefined && isMeant(spec, call.provider, call.model);
}

/** Leaves out rows that price nothing any more. */
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
