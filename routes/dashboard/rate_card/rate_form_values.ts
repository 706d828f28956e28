/** The values of the rate form: its fields as text, and the body of the API call. */
import {
  LABEL_CHARS_MAX,
  RATE_NOTE_CHARS_MAX,
  RATE_TIERS_MAX,
} from "../../../domain/core/limits.ts";
import type { Body } from "../../../domain/core/body.ts";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";
import type { RateRow, Rates } from "../../../domain/pricing/rates.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { bodyOf } from "../components/form_fields.tsx";

/** Field texts by field name. */
export type RateValues = Readonly<Record<string, string>>;

/** Rate fields of a row or a tier. */
export const RATE_FIELDS = [
  "input_usd_per_million",
  "output_usd_per_million",
  "cached_input_usd_per_million",
  "cache_write_usd_per_million",
] as const;

/** Numeric fields of a row. */
const ROW_FIELDS = [...RATE_FIELDS, "batch_percent"] as const;

/** Fields of a tier. */
export const TIER_FIELDS = ["above_input_tokens", ...RATE_FIELDS] as const;

/** Maximum characters read of a field; more are invalid in every field. */
const CHARS_MAX = 2 * Math.max(LABEL_CHARS_MAX, RATE_NOTE_CHARS_MAX);

const TEXT_FIELDS = ["provider", "model", "effective_from", "note"] as const;

/** Builds the name of a tier's field. */
export function tierField(tier: number, name: string): string {
  return `tiers[${tier}].${name}`;
}

/** Reads the form; skips empty tiers. */
export function readRateForm(form: URLSearchParams): RateValues {
  const values: Record<string, string> = {};
  for (const name of [...TEXT_FIELDS, ...ROW_FIELDS]) values[name] = textOf(form, name);
  let tiers = 0;
  for (let tier = 0; tier < RATE_TIERS_MAX; tier++) {
    const texts = TIER_FIELDS.map((name) => [name, textOf(form, tierField(tier, name))] as const);
    if (texts.every(([, text]) => text === "")) continue;
    for (const [name, text] of texts) values[tierField(tiers, name)] = text;
    tiers++;
  }
  return values;
}

function textOf(form: URLSearchParams, name: string): string {
  return (form.get(name) ?? "").trim().slice(0, CHARS_MAX);
}

/** Counts the tiers that are filled in. */
export function tiersIn(values: RateValues): number {
  let tiers = 0;
  while (Object.hasOwn(values, tierField(tiers, "above_input_tokens"))) tiers++;
  return tiers;
}

/**
 * Builds the body of `PUT /v1/rate-card`. Text that is not a number stays text, which the parser
 * rejects.
 */
export function rateBodyOf(values: RateValues): Body {
  const tiers = Array.from(
    { length: tiersIn(values) },
    (_, tier) =>
      numbersOf(TIER_FIELDS.map((name) => [name, values[tierField(tier, name)] ?? ""] as const)),
  );
  const { provider, model, note, effective_from } = values;
  const value = {
    ...filledOnly({ provider, model, note, effective_from: instantText(effective_from ?? "") }),
    ...numbersOf(ROW_FIELDS.map((name) => [name, values[name] ?? ""] as const)),
    ...(tiers.length === 0 ? {} : { tiers }),
  };
  return bodyOf(value);
}

/** Turns a day into its first instant; returns other text unchanged. */
export function instantText(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00.000Z` : text;
}

/** Formats an instant as typed: as a day if it is the first instant of one. */
export function typedInstant(ms: number | null): string {
  return ms === null ? "" : formatInstant(ms).replace(/T00:00:00(?:\.000)?Z$/, "");
}

/** Drops empty fields. */
function filledOnly(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const filled: Record<string, string> = {};
  for (const [name, text] of Object.entries(fields)) if (text) filled[name] = text;
  return filled;
}

function numbersOf(
  fields: readonly (readonly [string, string])[],
): Record<string, number | string> {
  const filled = fields.filter(([, text]) => text !== "");
  return Object.fromEntries(filled.map(([name, text]) => [name, exactNumber(text)]));
}

/** Parses a number if that is exact; otherwise keeps the text instead of dropping digits. */
function exactNumber(text: string): number | string {
  const [, whole = "", decimals = ""] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const digits = decimals.replace(/0+$/, "");
  const plain = `${whole.replace(/^0+(?=\d)/, "")}${digits === "" ? "" : `.${digits}`}`;
  return plain === String(Number(text)) ? Number(text) : text;
}

/** Fills in the form from a row. */
export function valuesOf(
  { provider, model, from, rates, tiers, batchPercent }: RateRow,
): RateValues {
  const values: Record<string, string> = {
    provider: provider ?? "",
    model,
    effective_from: typedInstant(from),
    ...rateTexts(rates),
    batch_percent: batchPercent === undefined ? "" : String(batchPercent),
  };
  for (const [tier, { aboveInputTokens, rates }] of tiers.entries()) {
    values[tierField(tier, "above_input_tokens")] = String(aboveInputTokens);
    for (const [name, text] of Object.entries(rateTexts(rates))) {
      values[tierField(tier, name)] = text;
    }
  }
  return values;
}

function rateTexts({ input, output, cachedInput, cacheWrite }: Rates): Record<string, string> {
  const text = (rate: number | null) => rate === null ? "" : String(usdPerMillion(rate));
  return {
    input_usd_per_million: text(input),
    output_usd_per_million: text(output),
    cached_input_usd_per_million: text(cachedInput),
    cache_write_usd_per_million: text(cacheWrite),
  };
}

/** Assigns a problem to the form field that its message names: `field` omits the tier. */
export function atField(problem: Problem): Problem {
  const field = /"(tiers\[\d+\]\.\w+)"/.exec(problem.message)?.[1];
  return field === undefined ? problem : { ...problem, field };
}
