/**
 * A team's own price for a model: the body of `PUT /v1/rate-card`, checked.
 *
 * A price in a unit we do not know is refused even where unknown fields are ignored (decision 9):
 * left out in silence it would make every cost wrong.
 *
 * @module
 */
import { z } from "zod";
import { check } from "../core/validate.ts";
import { type Parsed, type Problem, refuse } from "../core/errors.ts";
import {
  LABEL_CHARS_MAX,
  RATE_NOTE_CHARS_MAX,
  RATE_ROWS_MAX,
  RATE_TIERS_MAX,
  RATE_USD_PER_MILLION_MAX,
} from "../core/limits.ts";
import { isObject } from "../core/raw_json.ts";
import type { Body } from "../core/body.ts";
import { isWhole } from "./batch_rates.ts";
import type { Rates, RateTier } from "./rates.ts";
import { instant, name, optional, text } from "../core/fields.ts";
import { isCount } from "../core/rules.ts";
import { printable, show } from "../core/text.ts";

/** What a team says a model costs. Provider, model and date name it; the rest may be replaced. */
export interface RateSpec {
  /** Provider it is for; null prices the model whoever serves it. */
  readonly provider: string | null;
  /** Model it is for. */
  readonly model: string;
  /** From when it is in force, unix milliseconds; null from the beginning of time. */
  readonly from: number | null;
  /** Rates of a call below all tiers. */
  readonly rates: Rates;
  /** Tiers by rising threshold. */
  readonly tiers: readonly RateTier[];
  /** Percent of all these rates that a call in a batch pays; absent where there is no batch rate. */
  readonly batchPercent?: number | undefined;
  /** Why it is so, for people. */
  readonly note: string | undefined;
}

/** Decimals of a rate: one token then costs whole picodollars (decisions, section 5). */
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

const rateFields = {
  input_usd_per_million: rate,
  output_usd_per_million: rate,
  cached_input_usd_per_million: optional(rate),
  cache_write_usd_per_million: optional(rate),
};
const tierFields = {
  above_input_tokens: z.number(THRESHOLD)
    .refine((value) => isCount(value) && value >= 1, THRESHOLD)
    .meta({ type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  ...rateFields,
};
const bodyFields = {
  provider: optional(label),
  model: label,
  effective_from: optional(instant()),
  ...rateFields,
  batch_percent: optional(z.int(PERCENT).min(0, PERCENT).max(100, PERCENT)),
  note: optional(text(RATE_NOTE_CHARS_MAX)),
  tiers: optional(
    z.custom<readonly Readonly<Record<string, unknown>>[]>(isTierList, TIERS)
      .meta({ type: "array", maxItems: RATE_TIERS_MAX, items: { type: "object" } }),
  ),
};

/**
 * Body of `PUT /v1/rate-card` without the inside of its tiers.
 *
 * @internal
 */
export const rateBody = z.object(bodyFields);

/**
 * One of its `tiers`.
 *
 * @internal
 */
export const tierBody = z.object(tierFields);

/** Checks a `PUT /v1/rate-card`. */
export function parseRate(body: Body): Parsed<RateSpec> {
  const unknown = unknownUnit(body.value, bodyFields, "");
  if (unknown !== null) return unknown;
  const parsed = check(rateBody, body.value);
  if (!parsed.ok) return parsed;
  const sent = parsed.value;
  const tiers = parseTiers(sent.tiers ?? []);
  if (!tiers.ok) return tiers;
  const { batch_percent: percent } = sent;
  const spec: RateSpec = {
    provider: sent.provider ?? null,
    model: sent.model,
    from: sent.effective_from ?? null,
    rates: ratesOf(sent),
    tiers: tiers.value,
    ...percent === undefined ? {} : { batchPercent: percent },
    note: sent.note,
  };
  if (percent !== undefined && !isWhole(spec, percent)) {
    const field = "batch_percent";
    const message = `Field "${field}" must leave at most ${RATE_DECIMALS_MAX} decimals of every ` +
      `rate: got ${percent}`;
    return refuse("invalid_field", message, field);
  }
  return { ok: true, value: spec };
}

/**
 * What one token costs at a rate.
 *
 * Judged by the digits a person sees: 0.1 has one decimal, whatever the number is in binary.
 *
 * @param usdPerMillion dollars per million tokens
 * @returns whole picodollars, or null where the rate is out of its bounds or has too many decimals
 */
export function ratePerToken(usdPerMillion: number): number | null {
  if (!(usdPerMillion >= 0 && usdPerMillion <= RATE_USD_PER_MILLION_MAX)) return null;
  // Within the bounds only numbers of seven decimals and more are written with an exponent.
  const [, whole = "", fraction = ""] = /^(\d+)(?:\.(\d+))?$/.exec(String(usdPerMillion)) ?? [];
  if (whole === "" || fraction.length > RATE_DECIMALS_MAX) return null;
  return Number(whole + fraction.padEnd(RATE_DECIMALS_MAX, "0"));
}

/** The dollars per million tokens of a rate: the very number that {@link ratePerToken} read. */
export function usdPerMillion(picodollarsPerToken: number): number {
  return picodollarsPerToken / 10 ** RATE_DECIMALS_MAX;
}

/** Whether two prices of one model from one date on say the same, so that one replays the other. */
export function isSameRate(a: RateSpec, b: RateSpec): boolean {
  return JSON.stringify(contentOf(a)) === JSON.stringify(contentOf(b));
}

/** Why a team may not have one more own row; null when it may. */
export function rateCapRefusal(rows: number): Problem | null {
  return rows < RATE_ROWS_MAX ? null : {
    code: "invalid_field",
    message: `Cannot add a row: the rate card has ${RATE_ROWS_MAX} own rows and no more fit; ` +
      "delete one that is not needed",
    field: "model",
  };
}

/** Everything of a price, in one order. */
function contentOf(
  { provider, model, from, rates, tiers, batchPercent, note }: RateSpec,
): unknown[] {
  const tierContent = tiers.map((tier) => [tier.aboveInputTokens, ...ratesContent(tier.rates)]);
  const batch = batchPercent ?? null;
  return [provider, model, from, ratesContent(rates), tierContent, batch, note ?? null];
}

function ratesContent({ input, output, cachedInput, cacheWrite }: Rates): (number | null)[] {
  return [input, output, cachedInput, cacheWrite];
}

function parseTiers(sent: readonly Readonly<Record<string, unknown>>[]): Parsed<RateTier[]> {
  const tiers: RateTier[] = [];
  for (const [index, fields] of sent.entries()) {
    const where = `tiers[${index}].`;
    const unknown = unknownUnit(fields, tierFields, where);
    if (unknown !== null) return unknown;
    const tier = check(tierBody, fields, where);
    if (!tier.ok) return tier;
    const aboveInputTokens = tier.value.above_input_tokens;
    if (aboveInputTokens <= (tiers.at(-1)?.aboveInputTokens ?? 0)) {
      const field = "above_input_tokens";
      const message = `Field "${where}${field}" must be more than that of the tier before: ` +
        `got ${aboveInputTokens}`;
      return refuse("invalid_field", message, field);
    }
    tiers.push({ aboveInputTokens, rates: ratesOf(tier.value) });
  }
  return { ok: true, value: tiers };
}

function ratesOf(sent: z.output<z.ZodObject<typeof rateFields>>): Rates {
  return {
    input: sent.input_usd_per_million,
    output: sent.output_usd_per_million,
    cachedInput: sent.cached_input_usd_per_million ?? null,
    cacheWrite: sent.cache_write_usd_per_million ?? null,
  };
}

/** Words in the name of a field that speaks of money or of what it is counted in. */
const UNIT_WORDS = new Set([
  ...["per", "unit", "units", "mtok", "ktok"],
  ...["currency", "usd", "eur", "cents", "dollars"],
  ...["price", "prices", "pricing", "cost", "costs", "rate", "rates"],
]);

/** Characters of an unknown field's name that a message repeats. */
const FIELD_CHARS_MAX = 64;

/** Refuses a field that is named like a price and is none of ours. */
function unknownUnit(
  sent: Readonly<Record<string, unknown>>,
  ours: object,
  where: string,
): { readonly ok: false } & Parsed<never> | null {
  for (const [key, value] of Object.entries(sent)) {
    if (Object.hasOwn(ours, key) || value === null || !speaksOfMoney(key)) continue;
    const field = printable(key.slice(0, FIELD_CHARS_MAX));
    const known = Object.keys(rateFields).map((name) => `"${name}"`).join(", ");
    const message = `Field "${where}${field}" is no rate of this card, whose rates are ${known}: ` +
      `got ${show(value)}`;
    return { ok: false, problem: { code: "invalid_field", message, field } };
  }
  return null;
}

/** Whether a name, in snake or camel case, has one of the words. */
function speaksOfMoney(name: string): boolean {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z0-9]+/);
  return words.some((word) => UNIT_WORDS.has(word));
}

function isTierList(value: unknown): boolean {
  return Array.isArray(value) && value.length <= RATE_TIERS_MAX && value.every(isObject);
}
