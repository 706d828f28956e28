/** Rate cards for tests. */
import type { RateCard, RateMatch, RateRow } from "../../../domain/pricing/rates.ts";

export const NO_CARD: RateCard = { find: () => null };

/** Creates a row that is always valid, in picodollars per token. */
export function rateRow(model: string, input: number, output: number): RateRow {
  const rates = { input, output, cachedInput: null, cacheWrite: null };
  return {
    id: `rate_${model}`,
    source: "own",
    provider: null,
    model,
    from: null,
    rates,
    tiers: [],
  };
}

export function cardOf(...rows: RateRow[]): RateCard {
  const matches = new Map(
    rows.map((row): [string, RateMatch] => [row.model, { row, match: "exact" }]),
  );
  return { find: (_, model) => matches.get(model) ?? null };
}
