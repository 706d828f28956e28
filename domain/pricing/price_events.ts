/**
 * Prices of a batch of events: each call once, when it is stored, by the row in force at its `ts`
 * (decisions, section 5).
 *
 * @module
 */
import type { LlmCall } from "./llm_call.ts";
import { batchMatchOf } from "./batch_rates.ts";
import { priceOf } from "./price.ts";
import type { RateCard, RateMatch } from "./rates.ts";

/** What pricing needs of an event. */
export interface Priceable {
  /** Instant of the call, unix milliseconds. */
  readonly ts: number;
  /** Of which the call counts, when the event is one. */
  readonly facts: { readonly call?: LlmCall | undefined };
}

/** Prices of a batch, event by event. */
export interface BatchPrices {
  /** The rows that priced any of its events, with their rates: a later change of the card changes none. */
  readonly matches: readonly RateMatch[];
  /** For each event which of `matches` priced it, -1 for none. */
  readonly by: readonly number[];
  /** Picodollars of each event; 0 where no row priced it. A bigint beyond 2^53. */
  readonly costs: readonly (number | bigint)[];
}

/** Prices of no events. */
export const NO_PRICES: BatchPrices = { matches: [], by: [], costs: [] };

/** Whether an event can be priced: a call that names its model and counts tokens (pricing rule 3). */
export function isPriceable(call: LlmCall | undefined): call is LlmCall & { model: string } {
  return call !== undefined && call.model !== null && call.counted;
}

/** Whether a call in a batch was priced at full rates, because its row has no batch rate. */
export function lacksBatchRate(call: LlmCall, match: RateMatch | undefined): boolean {
  return call.isBatch === true && match !== undefined && match.isBatch !== true;
}

/** Prices a batch. */
export function priceEvents(events: readonly Priceable[], card: RateCard): BatchPrices {
  const matches: RateMatch[] = [];
  const by: number[] = [];
  const costs: (number | bigint)[] = [];
  for (const { ts, facts: { call } } of events) {
    const found = isPriceable(call) ? card.find(call.provider, call.model, ts) : null;
    if (found === null || call === undefined) {
      by.push(-1);
      costs.push(0);
      continue;
    }
    // Without a batch rate a call in a batch pays the full one, which its run shows.
    const match = call.isBatch === true ? batchMatchOf(found) ?? found : found;
    // The card answers with one object for one row: a batch has few.
    let index = matches.indexOf(match);
    if (index < 0) index = matches.push(match) - 1;
    by.push(index);
    costs.push(priceOf(match.row, call).cost);
  }
  return { matches, by, costs };
}
