/**
 * Calls that cost 0 because their model has no price, with an estimate, or because they have no tokens.
 *
 * @module
 */
import { addCounts } from "../core/sums.ts";
import type { Measures } from "../runs/summary.ts";
import { type ModelName, type ModelUsage, OTHER_MODELS } from "../runs/model_usage.ts";
import type { Picodollars } from "../pricing/money.ts";
import type { RateRow } from "../pricing/rates.ts";
import type { RollupRow } from "./rollup.ts";
import { firstOf } from "./first_of.ts";
import {
  groupBytes,
  modelId,
  modelKey,
  type ReadRows,
  SPEND_BYTES_MAX,
  SPEND_ROWS_MAX,
  tooManyRows,
} from "./spend.ts";
import { matches, modelOf, type SpendQuery } from "./spend_query.ts";

/** Maximum models in an answer: those with the most tokens. */
export const UNPRICED_MODELS_MAX = 100;

/** Reasons why calls to a model cost 0: it has no price, or the calls have no token counts. */
export const UNPRICED_REASONS = ["no_price", "no_tokens"] as const;

/** Calls to a model that cost 0 for one reason. */
export interface UnpricedModel
  extends Pick<ModelUsage, "calls" | "inputTokens" | "outputTokens" | "cachedInputTokens"> {
  /** Model. */
  readonly name: ModelName;
  /** Reason. */
  readonly reason: typeof UNPRICED_REASONS[number];
  /** First UTC day of the query with such a call, `YYYY-MM-DD`. */
  readonly firstSeen: string;
  /** Last such day, `YYYY-MM-DD`. */
  readonly lastSeen: string;
}

/** An unpriced model with an estimate of its cost. */
export interface EstimatedModel extends UnpricedModel {
  /** Estimated cost at the rates of the nearest priced row; null if none is near. */
  readonly estimate: { readonly cost: Picodollars; readonly row: RateRow } | null;
}

/** The models without a price. */
export interface Unpriced {
  /** Models by descending tokens, {@link UNPRICED_MODELS_MAX} at most. */
  readonly models: readonly EstimatedModel[];
  /** Number of models not listed. */
  readonly leftOut: number;
  /** Total of the estimates, in picodollars. */
  readonly estimateTotal: Picodollars;
}

/**
 * Returns the models without a price.
 *
 * @param nearest finds the priced row to estimate with
 */
export async function unpricedOf(
  query: SpendQuery,
  read: ReadRows,
  nearest: (name: ModelName) => RateRow | null,
): Promise<Unpriced> {
  const all = await readUnpriced(query, read);
  if (all === null) return tooManyRows();
  const listed = firstOf(all, UNPRICED_MODELS_MAX, byTokens);
  const models: EstimatedModel[] = [];
  for (const model of listed) {
    // The combined line of other models has no nearest price.
    const mayBePriced = model.reason === "no_price" && model.name.model !== OTHER_MODELS;
    const row = mayBePriced ? nearest(model.name) : null;
    models.push({ ...model, estimate: row && { cost: estimateOf(model, row), row } });
  }
  const estimateTotal = models.reduce((sum, { estimate }) => sum + (estimate?.cost ?? 0n), 0n);
  return { models, leftOut: all.length - models.length, estimateTotal };
}

/** Returns all models with unpriced calls; null if there are too many rows. */
async function readUnpriced(query: SpendQuery, read: ReadRows): Promise<UnpricedModel[] | null> {
  const models = new Map<string, UnpricedModel>();
  let [count, bytes] = [0, 0];
  for await (const rows of read("model")) {
    count += rows.length;
    if (count > SPEND_ROWS_MAX || bytes > SPEND_BYTES_MAX) return null;
    for (const row of rows) if (matches(row, query.filters)) bytes += addUnpriced(models, row);
  }
  return [...models.values()];
}

/** Adds a row to its model, and returns the bytes of new entries. Rows arrive by day. */
function addUnpriced(
  models: Map<string, UnpricedModel>,
  { day, group, measures }: RollupRow,
): number {
  const name = modelOf(group);
  if (name === null) return 0;
  return UNPRICED_REASONS.reduce((bytes, reason) => {
    const sums = sumsOf(measures, reason);
    if (sums.calls === 0) return bytes;
    const id = `${reason} ${modelId(name)}`;
    const entry = models.get(id);
    const sum = entry === undefined
      ? { name, reason, ...sums, firstSeen: day }
      : addCounts<UnpricedModel>(entry, sums);
    models.set(id, { ...sum, lastSeen: day });
    return bytes + (entry === undefined ? groupBytes(id) : 0);
  }, 0);
}

function sumsOf(measures: Measures, reason: UnpricedModel["reason"]) {
  return reason === "no_price"
    ? {
      calls: measures.unpricedCalls,
      inputTokens: measures.unpricedInputTokens,
      outputTokens: measures.unpricedOutputTokens,
      cachedInputTokens: measures.unpricedCachedInputTokens,
    }
    : { calls: measures.uncountedCalls, inputTokens: 0n, outputTokens: 0n, cachedInputTokens: 0n };
}

function byTokens(a: UnpricedModel, b: UnpricedModel): number {
  const [aTokens, bTokens] = [tokensOf(a), tokensOf(b)];
  if (aTokens !== bTokens) return aTokens > bTokens ? -1 : 1;
  return modelKey(a.name) + a.reason < modelKey(b.name) + b.reason ? -1 : 1;
}

function tokensOf({ inputTokens, outputTokens }: UnpricedModel): bigint {
  return inputTokens + outputTokens;
}

/**
 * Estimates the cost of tokens at a row's base rates. Tiers apply per call, and single calls are
 * not known here. More cached than input tokens means that they were reported separately
 * (decisions, section 5).
 */
function estimateOf(sums: UnpricedModel, { rates }: RateRow): Picodollars {
  const { inputTokens, outputTokens, cachedInputTokens: cached } = sums;
  const uncached = cached > inputTokens ? inputTokens : inputTokens - cached;
  return uncached * BigInt(rates.input) + cached * BigInt(rates.cachedInput ?? rates.input) +
    outputTokens * BigInt(rates.output);
}
