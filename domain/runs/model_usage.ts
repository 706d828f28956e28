/**
 * Usage and cost by model: the lines that make up a run's cost.
 *
 * @module
 */
import { RUN_MODELS_MAX } from "../core/limits.ts";
import type { Picodollars } from "../pricing/money.ts";

/** Totals of calls. */
export interface CallTotals {
  /** Number of calls. */
  readonly calls: number;
  /** Input tokens. */
  readonly inputTokens: bigint;
  /** Output tokens. */
  readonly outputTokens: bigint;
  /** Cached input tokens. */
  readonly cachedInputTokens: bigint;
  /** Cost in picodollars. */
  readonly cost: Picodollars;
}

/** A model as named in its calls. */
export interface ModelName {
  /** Provider, if named. */
  readonly provider: string | null;
  /** Model. */
  readonly model: string;
}

/** Calls of a run to one model. Calls with a price, without one and without tokens are separate lines. */
export interface ModelUsage extends ModelName, CallTotals {
  /**
   * True if the rate card had a price for these calls; without a price they cost 0. Null if they had no
   * token counts, so that no price applies (R27).
   */
  readonly priced: boolean | null;
}

/** Name of the line that combines the models beyond {@link RUN_MODELS_MAX}. */
export const OTHER_MODELS = "(other models)";

/** That name, with its provider. */
export const REST: ModelName = { provider: null, model: OTHER_MODELS };

/**
 * Adds a line to the lines of a run, which are sorted by name.
 *
 * With too many names, the first ones in sort order stay and the others share one line. A name that
 * belongs among the first is recognized at its first call. So the lines do not depend on the order
 * of calls, and no usage is lost. Once the shared line exists, it may already include a name that
 * sorts after all named lines. Such a name is added to the shared line, even if repricing has freed
 * a slot: no model is ever split between its own line and the shared one.
 */
export function addModelUsage(
  lines: readonly ModelUsage[],
  line: ModelUsage,
): readonly ModelUsage[] {
  if (mayBeInRest(lines, line)) return merge(lines, restOf(line));
  const sum = merge(lines, line);
  const named = sum.filter((one) => !isRest(one));
  if (named.length <= RUN_MODELS_MAX) return sum;
  const last = named.at(-1);
  if (last === undefined) return sum;
  const kept = sum.filter((one) => one !== last);
  return merge(kept, restOf(last));
}

/** Returns whether a line is the shared line of other models. */
export function isRest({ provider, model }: ModelName): boolean {
  return model === OTHER_MODELS && provider === null;
}

function restOf(line: ModelUsage): ModelUsage {
  return { ...line, ...REST };
}

/**
 * Returns whether calls of this line may be in the shared line, which only holds names after all
 * others.
 */
function mayBeInRest(lines: readonly ModelUsage[], line: ModelUsage): boolean {
  if (!lines.some(isRest)) return false;
  const last = lines.findLast((one) => !isRest(one));
  return last === undefined || sortName(last) < sortName(line);
}

/** Subtracts a line from the lines of a run it was added to. */
export function subtractModelUsage(
  lines: readonly ModelUsage[],
  line: ModelUsage,
): readonly ModelUsage[] {
  const isNamed = lines.some((one) => isSameModel(one, line) && one.priced === line.priced);
  return merge(lines, isNamed ? line : restOf(line), -1).filter(({ calls }) => calls !== 0);
}

/** Returns whether two lines are of the same model. */
export function isSameModel(a: ModelName, b: ModelName): boolean {
  return a.model === b.model && a.provider === b.provider;
}

function merge(
  lines: readonly ModelUsage[],
  line: ModelUsage,
  sign: 1 | -1 = 1,
): readonly ModelUsage[] {
  const at = lines.findIndex((one) => isSameModel(one, line) && one.priced === line.priced);
  const existing = lines[at];
  if (existing !== undefined) return lines.with(at, addTotals(existing, line, sign));
  const name = sortName(line);
  const before = lines.filter((other) => sortName(other) < name);
  return [...before, line, ...lines.slice(before.length)];
}

function sortName({ model, provider, priced }: ModelUsage): string {
  return JSON.stringify([model, provider, priced]);
}

/** Adds totals to a line, or subtracts them from it. */
export function addTotals<Line extends CallTotals>(
  line: Line,
  added: CallTotals,
  sign: 1 | -1 = 1,
): Line {
  const times = BigInt(sign);
  return {
    ...line,
    calls: line.calls + sign * added.calls,
    inputTokens: line.inputTokens + times * added.inputTokens,
    outputTokens: line.outputTokens + times * added.outputTokens,
    cachedInputTokens: line.cachedInputTokens + times * added.cachedInputTokens,
    cost: line.cost + times * added.cost,
  };
}
