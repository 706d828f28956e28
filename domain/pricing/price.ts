/**
 * Computes the cost of a call from a rate card row: whole picodollars, never rounded (decisions,
 * section 5).
 *
 * @module
 */
import type { EventId } from "../core/ids.ts";
import type { Picodollars } from "./money.ts";
import {
  batchMatchOf,
  type CallTokens,
  type RateCard,
  type RateMatch,
  type RateRow,
  type Rates,
} from "./rates.ts";
import type { LlmCall } from "./llm_call.ts";

/** Cost of one kind of tokens. */
export interface CostLine {
  /** Kind of the tokens. */
  readonly kind: "input" | "cached_input" | "cache_write" | "output";
  /** Number of tokens. */
  readonly tokens: number;
  /** Picodollars per token. */
  readonly rate: number;
  /** Tokens times rate. */
  readonly cost: Picodollars;
}

/** Computes the price of a call in picodollars: a number if it is a safe integer, else a bigint. */
export function priceOf(row: RateRow, tokens: CallTokens): number | bigint {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = tokens;
  const apart = isApart(tokens);
  const { input, output, cachedInput, cacheWrite } = ratesFor(row, tokens, apart);
  const plain = apart ? inputTokens : inputTokens - cachedInputTokens - cacheWriteTokens;
  const cost = plain * input + cachedInputTokens * (cachedInput ?? input) +
    cacheWriteTokens * (cacheWrite ?? input) + outputTokens * output;
  // No addend is negative, so a total that is a safe integer has exact addends. Rounding cannot turn a
  // larger total into a safe integer, because 2^53 - 1 and everything below it are exact.
  if (cost <= Number.MAX_SAFE_INTEGER) return cost;
  return costLines(row, tokens).reduce((sum, { cost }) => sum + cost, 0n);
}

/** Breaks the price down by kind of tokens; omits kinds without tokens. */
export function costLines(row: RateRow, tokens: CallTokens): readonly CostLine[] {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = tokens;
  const apart = isApart(tokens);
  const { input, output, cachedInput, cacheWrite } = ratesFor(row, tokens, apart);
  const plain = apart ? inputTokens : inputTokens - cachedInputTokens - cacheWriteTokens;
  return [
    costLine("input", plain, input),
    costLine("cached_input", cachedInputTokens, cachedInput ?? input),
    costLine("cache_write", cacheWriteTokens, cacheWrite ?? input),
    costLine("output", outputTokens, output),
  ].filter(({ tokens }) => tokens > 0);
}

function costLine(kind: CostLine["kind"], tokens: number, rate: number): CostLine {
  return { kind, tokens, rate, cost: BigInt(tokens) * BigInt(rate) };
}

/**
 * Returns whether input excludes cache reads and writes: they exceed it, so they are reported
 * separately.
 */
export function isApart({ inputTokens, cachedInputTokens, cacheWriteTokens }: CallTokens): boolean {
  // A total beyond the safe integers is rounded but stays above any input.
  return cachedInputTokens + cacheWriteTokens > inputTokens;
}

/** Returns the rates of the tier reached by the total of all input tokens. */
function ratesFor({ rates, tiers }: RateRow, tokens: CallTokens, apart: boolean): Rates {
  if (tiers.length === 0) return rates;
  const { inputTokens, cachedInputTokens, cacheWriteTokens } = tokens;
  const input = apart ? inputTokens + cachedInputTokens + cacheWriteTokens : inputTokens;
  let reached = rates;
  for (const tier of tiers) {
    if (input > tier.aboveInputTokens) reached = tier.rates;
  }
  return reached;
}

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
  /**
   * Events whose call is counted where another instrumentation told it; absent for none. They keep their
   * price, which is not part of the run's cost.
   */
  readonly twins?: readonly Twin[];
}

/** An event whose call another event counts. */
export type Twin = readonly [index: number, countedBy: EventId];

/** Returns the indexes of the events whose call another event counts. */
export function twinIndexes({ twins = [] }: Pick<BatchPrices, "twins">): ReadonlySet<number> {
  return new Set(twins.map(([index]) => index));
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
  /** The row of the card that each match comes from. */
  const rows: RateRow[] = [];
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
    let index = matches.findIndex((match, i) =>
      rows[i] === fullMatch.row && match.match === fullMatch.match &&
      (match.isBatch === true) === isBatch
    );
    // Without a batch rate, a call in a batch pays the full rate, and its run shows that.
    const match = matches[index] ?? (isBatch ? batchMatchOf(fullMatch) : null) ?? fullMatch;
    if (index < 0) index = matches.push(match) - 1;
    rows[index] = fullMatch.row;
    by.push(index);
    costs.push(priceOf(match.row, call));
  }
  return { matches, by, costs };
}
