/**
 * Usage and cost by model: the lines a run's cost is made of.
 *
 * @module
 */
import { RUN_MODELS_MAX } from "../core/limits.ts";
import type { Picodollars } from "../pricing/money.ts";

/** Calls of a run to one model, those with a price and those without apart. */
export interface ModelUsage {
  /** Provider as named, if it was. */
  readonly provider: string | null;
  /** Model as named. */
  readonly model: string;
  /** Whether the card had a price for these calls; without one they cost 0. */
  readonly priced: boolean;
  /** How many calls. */
  readonly calls: number;
  /** Sum of input tokens. */
  readonly inputTokens: bigint;
  /** Sum of output tokens. */
  readonly outputTokens: bigint;
  /** Sum of cached input tokens. */
  readonly cachedInputTokens: bigint;
  /** What they cost. */
  readonly cost: Picodollars;
}

/** What stands for the models of a run beyond those that are named one by one. */
export const OTHER_MODELS = "(other models)";

/**
 * Adds a line to the lines of a run, which are sorted by name.
 *
 * When there are too many names the smallest stay and the rest is one line. A name among the smallest
 * of all is so from its first sight on, so the lines do not depend on the order calls arrive in, and
 * nothing is ever lost from their sum. Once there is a rest, a name behind all that stayed may be in it
 * already and joins it, also when pricing anew has made room: no name is ever in part in the rest.
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

/** Whether a line stands for the models that are not named one by one. */
export function isRest({ provider, model }: Pick<ModelUsage, "provider" | "model">): boolean {
  return model === OTHER_MODELS && provider === null;
}

function restOf(line: ModelUsage): ModelUsage {
  return { ...line, provider: null, model: OTHER_MODELS };
}

/** Whether calls like these may be in the rest: whatever is there stood behind all names. */
function mayBeInRest(lines: readonly ModelUsage[], line: ModelUsage): boolean {
  if (!lines.some(isRest)) return false;
  const last = lines.findLast((one) => !isRest(one));
  return last === undefined || sortName(last) < sortName(line);
}

/** Takes a line back out of the lines of a run that it was added to. */
export function subtractModelUsage(
  lines: readonly ModelUsage[],
  line: ModelUsage,
): readonly ModelUsage[] {
  const isNamed = lines.some((known) => isSameModel(known, line) && known.priced === line.priced);
  const name = isNamed ? line : restOf(line);
  return merge(lines, {
    ...name,
    calls: -line.calls,
    inputTokens: -line.inputTokens,
    outputTokens: -line.outputTokens,
    cachedInputTokens: -line.cachedInputTokens,
    cost: -line.cost,
  }).filter(({ calls }) => calls !== 0);
}

/** Whether two lines are of one model. */
export function isSameModel(
  a: Pick<ModelUsage, "provider" | "model">,
  b: Pick<ModelUsage, "provider" | "model">,
): boolean {
  return a.model === b.model && a.provider === b.provider;
}

function merge(lines: readonly ModelUsage[], line: ModelUsage): readonly ModelUsage[] {
  const at = lines.findIndex((known) => isSameModel(known, line) && known.priced === line.priced);
  const known = lines[at];
  if (known !== undefined) return lines.with(at, addSums(known, line));
  const name = sortName(line);
  const before = lines.filter((other) => sortName(other) < name);
  return [...before, line, ...lines.slice(before.length)];
}

function sortName({ model, provider, priced }: ModelUsage): string {
  return JSON.stringify([model, provider, priced]);
}

function addSums(a: ModelUsage, b: ModelUsage): ModelUsage {
  return {
    ...a,
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    cost: a.cost + b.cost,
  };
}
