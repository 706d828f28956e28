/** The values of the rate form: its fields as text, and the body of the API call. */
import {
  LABEL_CHARS_MAX,
  RATE_NOTE_CHARS_MAX,
  RATE_TIERS_MAX,
} from "../../../domain/core/limits.ts";
import type { Body } from "../../../domain/core/body.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import { rowFields } from "../../../domain/pricing/rate_body.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { bodyOf, type Texts, textsOf, valuesIn } from "../components/form_fields.tsx";

/** The fields of a price, and of its tiers. */
export interface RateTexts {
  readonly row: Texts;
  readonly tiers: readonly Texts[];
}

const TEXT_FIELDS = ["provider", "model", "effective_from", "note"];

const RATE_FIELDS = [
  "input_usd_per_million",
  "output_usd_per_million",
  "cached_input_usd_per_million",
  "cache_write_usd_per_million",
];

const ROW_FIELDS = [...TEXT_FIELDS, ...RATE_FIELDS, "batch_percent"];

const TIER_FIELDS = ["above_input_tokens", ...RATE_FIELDS];

/** Maximum characters read of a field; more are invalid in every field. */
const CHARS_MAX = 2 * Math.max(LABEL_CHARS_MAX, RATE_NOTE_CHARS_MAX);

/** Begins the names of a tier's fields. */
export function tierPrefix(tier: number): string {
  return `tiers[${tier}].`;
}

/** Reads the form; skips empty tiers. */
export function readRateForm(form: URLSearchParams): RateTexts {
  const read = (names: readonly string[], prefix = ""): Texts =>
    Object.fromEntries(
      names.map((name) => [name, (form.get(prefix + name) ?? "").trim().slice(0, CHARS_MAX)]),
    );
  const tiers = Array.from(
    { length: RATE_TIERS_MAX },
    (_, tier) => read(TIER_FIELDS, tierPrefix(tier)),
  );
  const isFilled = (tier: Texts) => Object.values(tier).some((text) => text !== "");
  return { row: read(ROW_FIELDS), tiers: tiers.filter(isFilled) };
}

/** Builds the body of `PUT /v1/rate-card`. */
export function rateBodyOf({ row, tiers }: RateTexts): Body {
  return bodyOf({ ...valuesIn(row, valueOf), tiers: tiers.map((tier) => valuesIn(tier, valueOf)) });
}

/** Converts a field. Text that is not a number stays text, which the parser rejects. */
function valueOf(text: string, name: string): number | string {
  if (name === "effective_from") return instantOfDay(text);
  return TEXT_FIELDS.includes(name) ? text : exactNumber(text);
}

/** Parses a number if that is exact; otherwise keeps the text instead of dropping digits. */
function exactNumber(text: string): number | string {
  const [, whole = "", decimals = ""] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const digits = decimals.replace(/0+$/, "");
  const plain = `${whole.replace(/^0+(?=\d)/, "")}${digits === "" ? "" : `.${digits}`}`;
  return plain === String(Number(text)) ? Number(text) : text;
}

/** Fills in the form from a row. */
export function textsOfRow(row: RateRow): RateTexts {
  const { tiers, ...fields } = rowFields(row);
  return {
    row: { ...textsOf(ROW_FIELDS, fields), effective_from: typedInstant(row.from) },
    tiers: [tiers].flat().map((tier) => textsOf(TIER_FIELDS, Object(tier))),
  };
}

/** Turns a day into its first instant; returns other text unchanged. */
export function instantOfDay(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00.000Z` : text;
}

/** Formats an instant as typed: as a day if it is the first instant of one. */
export function typedInstant(ms: number | null): string {
  return ms === null ? "" : formatInstant(ms).replace(/T00:00:00(?:\.000)?Z$/, "");
}

/** Assigns a problem to the form field that its message names: `field` omits the tier. */
export function atField(problem: Problem): Problem {
  const field = /"(tiers\[\d+\]\.\w+)"/.exec(problem.message)?.[1];
  return field === undefined ? problem : { ...problem, field };
}
