/**
 * Validates the body of `PUT /v1/rate-card`, a team's own price for a model.
 *
 * @module
 */
import { z } from "zod";
import { check } from "../core/validate.ts";
import { refuse } from "../core/errors.ts";
import {
  LABEL_CHARS_MAX,
  RATE_NOTE_CHARS_MAX,
  RATE_ROWS_MAX,
  RATE_TIERS_MAX,
  RATE_USD_PER_MILLION_MAX,
} from "../core/limits.ts";
import { isObject } from "../core/raw_json.ts";
import type { Body } from "../core/body.ts";
import { isWhole, mapRates, type RateRow, type Rates, type RateTier } from "./rates.ts";
import { instant, name, optional, text } from "../core/fields.ts";
import { isCount } from "../core/rules.ts";
import { formatInstant } from "../core/time.ts";
import type { AuditValue } from "../teams/audit_log.ts";

/** A team's own price for a model. Provider, model and date are its key. */
export interface RateSpec extends Omit<RateRow, "id" | "source"> {
  /** Note for people, such as the reason. */
  readonly note: string | undefined;
}

/** Maximum decimals of a rate, so that one token costs whole picodollars (decisions, section 5). */
const RATE_DECIMALS_MAX = 6;

const RATE = `a number of dollars per million tokens from 0 to ${RATE_USD_PER_MILLION_MAX} ` +
  `with at most ${RATE_DECIMALS_MAX} decimals`;
const THRESHOLD = `an integer from 1 to ${Number.MAX_SAFE_INTEGER}`;
const PERCENT = "an integer from 0 to 100";
const TIERS = `a list of at most ${RATE_TIERS_MAX} objects`;

const label = name(LABEL_CHARS_MAX, "a name");
const rate = z.number(RATE).refine((value) => ratePerToken(value) !== null, RATE)
  .meta({ minimum: 0, maximum: RATE_USD_PER_MILLION_MAX })
  .transform((value) => ratePerToken(value) ?? 0);

const PER_MILLION = `Dollars per million tokens, at most ${RATE_DECIMALS_MAX} decimals`;
const inputRateOr = optional(rate).describe(`${PER_MILLION}; the input rate when absent.`);

const rateFields = {
  input_usd_per_million: rate.describe(`${PER_MILLION}.`),
  output_usd_per_million: rate.describe(`${PER_MILLION}.`),
  cached_input_usd_per_million: inputRateOr,
  cache_write_usd_per_million: inputRateOr,
};

/**
 * One entry of `tiers`.
 *
 * @internal
 */
export const tierBody = z.object({
  above_input_tokens: z.number(THRESHOLD)
    .refine((value) => isCount(value) && value >= 1, THRESHOLD)
    .meta({ type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
    .describe(
      "Calls with more input tokens are priced at these rates; must increase from tier to tier.",
    ),
  ...rateFields,
});

/**
 * Body of `PUT /v1/rate-card`; {@link tierBody} validates its tiers.
 *
 * @internal
 */
export const rateBody = z.object({
  provider: optional(label).describe("Matches any provider when absent."),
  model: label.describe("The name that calls use, case-insensitive."),
  effective_from: optional(instant()).describe("Always in effect when absent."),
  ...rateFields,
  batch_percent: optional(z.int(PERCENT).min(0, PERCENT).max(100, PERCENT))
    .describe("Percentage of all rates for batch calls; no batch rate when absent."),
  note: optional(text(RATE_NOTE_CHARS_MAX)).describe("A reason or reference for the price."),
  tiers: optional(
    z.custom<readonly Readonly<Record<string, unknown>>[]>(isTierList, TIERS)
      .meta({ type: "array", maxItems: RATE_TIERS_MAX, items: { type: "object" } }),
  ),
});

/** Validates the body of `PUT /v1/rate-card`. */
export function parseRate(body: Body): RateSpec {
  const fields = check(rateBody, body.value);
  const tiers = parseTiers(fields.tiers ?? []);
  const { batch_percent: percent } = fields;
  const spec: RateSpec = {
    provider: fields.provider ?? null,
    model: fields.model,
    from: fields.effective_from ?? null,
    rates: ratesOf(fields),
    tiers,
    ...percent === undefined ? {} : { batchPercent: percent },
    note: fields.note,
  };
  if (percent !== undefined && !isWhole(spec, percent)) {
    const field = "batch_percent";
    const message = `Field "${field}" must leave at most ${RATE_DECIMALS_MAX} decimals of every ` +
      `rate: got ${percent}`;
    return refuse("invalid_field", message, field);
  }
  return spec;
}

/**
 * Converts a rate to picodollars per token.
 *
 * Uses the decimal digits: 0.1 has one decimal, whatever its binary value.
 *
 * @param usdPerMillion dollars per million tokens
 * @returns whole picodollars; null if the rate is out of range or has too many decimals
 */
export function ratePerToken(usdPerMillion: number): number | null {
  if (!(usdPerMillion >= 0 && usdPerMillion <= RATE_USD_PER_MILLION_MAX)) return null;
  // Within the range, only numbers with seven or more decimals are written with an exponent.
  const [, whole = "", fraction = ""] = /^(\d+)(?:\.(\d+))?$/.exec(String(usdPerMillion)) ?? [];
  if (whole === "" || fraction.length > RATE_DECIMALS_MAX) return null;
  return Number(whole + fraction.padEnd(RATE_DECIMALS_MAX, "0"));
}

/** Returns the dollars per million tokens of a rate; inverse of {@link ratePerToken}. */
export function usdPerMillion(picodollarsPerToken: number): number {
  return picodollarsPerToken / 10 ** RATE_DECIMALS_MAX;
}

/** Returns a rate card row under the field names of responses and the audit log. */
export function rowFields(
  { id, source, provider, model, from, rates, tiers, batchPercent }: RateRow,
): { readonly [name: string]: AuditValue } {
  return {
    ...{ id, source, provider, model },
    effective_from: from === null ? null : formatInstant(from),
    ...rateFieldsOf(rates),
    tiers: tiers.map((tier) => ({
      above_input_tokens: tier.aboveInputTokens,
      ...rateFieldsOf(tier.rates),
    })),
    batch_percent: batchPercent ?? null,
  };
}

function rateFieldsOf(rates: Rates) {
  const { input, output, cachedInput, cacheWrite } = mapRates(rates, usdPerMillion);
  return {
    input_usd_per_million: input,
    output_usd_per_million: output,
    cached_input_usd_per_million: cachedInput,
    cache_write_usd_per_million: cacheWrite,
  };
}

/** Returns whether two prices with the same key are equal, so that one is a replay of the other. */
export function isSameRate(a: RateSpec, b: RateSpec): boolean {
  return contentOf(a) === contentOf(b);
}

/** Refuses a further own row if the team may add none. */
export function refuseFullCard(rows: number): void {
  if (rows < RATE_ROWS_MAX) return;
  const message = `Cannot add a row: the rate card has the maximum of ${RATE_ROWS_MAX} own rows; ` +
    "delete one that is not needed";
  refuse("invalid_field", message, "model");
}

/** Returns the fields of a price in a fixed order. */
function contentOf({ provider, model, from, rates, tiers, batchPercent, note }: RateSpec) {
  return JSON.stringify({ provider, model, from, rates, tiers, batchPercent, note });
}

function parseTiers(elements: readonly Readonly<Record<string, unknown>>[]): RateTier[] {
  const tiers: RateTier[] = [];
  for (const [index, fields] of elements.entries()) {
    const where = `tiers[${index}].`;
    const tier = check(tierBody, fields, where);
    const aboveInputTokens = tier.above_input_tokens;
    if (aboveInputTokens <= (tiers.at(-1)?.aboveInputTokens ?? 0)) {
      const field = "above_input_tokens";
      const message = `Field "${where}${field}" must be greater than in the previous tier: ` +
        `got ${aboveInputTokens}`;
      return refuse("invalid_field", message, field);
    }
    tiers.push({ aboveInputTokens, rates: ratesOf(tier) });
  }
  return tiers;
}

function ratesOf(fields: z.output<z.ZodObject<typeof rateFields>>): Rates {
  return {
    input: fields.input_usd_per_million,
    output: fields.output_usd_per_million,
    cachedInput: fields.cached_input_usd_per_million ?? null,
    cacheWrite: fields.cache_write_usd_per_million ?? null,
  };
}

function isTierList(value: unknown): boolean {
  return Array.isArray(value) && value.length <= RATE_TIERS_MAX && value.every(isObject);
}
