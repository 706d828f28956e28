/**
 * Rate card rows under the field names of responses.
 *
 * @module
 */
import { formatInstant } from "../core/time.ts";
import type { AuditValue } from "../teams/audit_log.ts";
import { usdPerMillion } from "./rate_body.ts";
import type { RateRow, Rates } from "./rates.ts";

/** Returns a rate card row as shown in responses and the audit log. */
export function rowFields(
  { id, source, provider, model, from, rates, tiers, batchPercent }: RateRow,
): { readonly [name: string]: AuditValue } {
  return {
    id,
    source,
    provider,
    model,
    effective_from: from === null ? null : formatInstant(from),
    ...rateFields(rates),
    tiers: tiers.map((tier) => ({
      above_input_tokens: tier.aboveInputTokens,
      ...rateFields(tier.rates),
    })),
    batch_percent: batchPercent ?? null,
  };
}

function rateFields({ input, output, cachedInput, cacheWrite }: Rates) {
  return {
    input_usd_per_million: usdPerMillion(input),
    output_usd_per_million: usdPerMillion(output),
    cached_input_usd_per_million: cachedInput === null ? null : usdPerMillion(cachedInput),
    cache_write_usd_per_million: cacheWrite === null ? null : usdPerMillion(cacheWrite),
  };
}
