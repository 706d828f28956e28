/**
 * Prices a batch of events: each call once, when it is stored, by the row effective at its `ts`
 * (decisions, section 5).
 *
 * @module
 */
import type { LlmCall } from "./llm_call.ts";
import { batchMatchOf } from "./batch_rates.ts";
import { priceOf } from "./price.ts";
import type { RateCard, RateMatch } from "./rates.ts";

/** Fields of an event that pricing needs. */
export interface Priceable {
  /** Instant of the call, unix milliseconds. */
  readonly ts: number;
  /** Facts of the event; only a model call is priced. */
  readonly facts: { readonly call?: LlmCall | undefined };
}

/** Prices of a batch by event. */
export interface BatchPrices {
  /** Rows used by the batch, with their rates, so that later changes of the card have no effect. */
  readonly matches: readonly RateMatch[];
  /** For each event, the index of its row in `matches`; -1 for none. */
  readonly by: readonly number[];
  /** Picodollars of each event; 0 without a row. A bigint beyond 2^53. */
  readonly costs: readonly (number | bigint)[];
}

/** Prices of an empty batch. */
export const NO_PRICES: BatchPrices = { matches: [], by: [], costs: [] };

/** Returns whether a call can be priced: it names a model and counts tokens (pricing rule 3). */
export function isPriceable(call: LlmCall | undefined): call is LlmCall & { model: string } {
  return call !== undefined && call.model !== null && call.counted;
}

/** Returns whether a call in a batch was priced at full rates because its row has no batch rate. */
export function lacksBatchRate(call: LlmCall, match: RateMatch | undefined): boolean {
  return call.isBatch === true && match !== undefined && match.isBatch !== true;
}

/** Prices the events of a batch. */
export function priceEvents(events: readonly Priceable[], card: RateCard): BatchPrices {
  const matches: RateMatch[] = [];
  const by: number[] = [];
  const costs: (number | bigint)[] = [];
  for (const { ts, facts: { call } } of events) {
    const fullMatch = isPriceable(call) ? card.find(call.provider, call.model, ts) : null;
    if (fullMatch === null || call === undefined) {
      by.push(-1);
      costs.push(0);
      continue;
    }
    const isBatch = call.isBatch === true && fullMatch.row.batchPercent !== undefined;
    // A batch uses few rows.
    let index = matches.findIndex((match) =>
      match.row.id === fullMatch.row.id && match.match === fullMatch.match &&
      (match.isBatch === true) === isBatch
    );
    // Without a batch rate, a call in a batch pays the full rate, and its run shows that.
    const match = matches[index] ?? (isBatch ? batchMatchOf(fullMatch) : null) ?? fullMatch;
    if (index < 0) index = matches.push(match) - 1;
    by.push(index);
    costs.push(priceOf(match.row, call));
  }
  return { matches, by, costs };
}
