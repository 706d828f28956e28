/**
 * The body of `POST /v1/rate-card/reprice`, checked.
 *
 * @module
 */
import { z } from "zod";
import { check } from "../core/validate.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { LABEL_CHARS_MAX } from "../core/limits.ts";
import type { Body } from "../core/body.ts";
import type { RepriceSpec } from "./reprice.ts";
import { instant, optional } from "../core/fields.ts";
import { isText } from "../core/rules.ts";
import { printable } from "../core/text.ts";

/** What is asked for. */
export interface RepriceRequest {
  /** Which calls. */
  readonly spec: RepriceSpec;
  /** Whether only to say what would change. */
  readonly dryRun: boolean;
}

const NAME = `a name as the calls sent it, of 1 to ${LABEL_CHARS_MAX} characters`;
/** Characters of an unknown field's name that a message repeats. */
const FIELD_CHARS_MAX = 64;

const label = z.string(NAME)
  .refine((value) => value !== "" && isText(value, LABEL_CHARS_MAX), NAME)
  .meta({ minLength: 1, maxLength: LABEL_CHARS_MAX });

/**
 * Body of `POST /v1/rate-card/reprice`.
 *
 * @internal
 */
export const repriceBody = z.object({
  model: label,
  provider: optional(label),
  from: optional(instant()),
  to: optional(instant()),
  dry_run: optional(z.boolean("true or false")),
});

/** Checks the body. */
export function parseReprice(body: Body): Parsed<RepriceRequest> {
  // Unknown fields are ignored (decision 9), but this one, misspelt, would price for real.
  const misspelt = Object.keys(body.value).find((key) => /^dry/i.test(key) && key !== "dry_run");
  if (misspelt !== undefined) {
    const field = printable(misspelt.slice(0, FIELD_CHARS_MAX));
    return refuse("invalid_field", `Unknown field "${field}": did you mean "dry_run"?`, field);
  }
  const parsed = check(repriceBody, body.value);
  if (!parsed.ok) return parsed;
  const { model, provider = null, from = null, to = null, dry_run: dryRun = false } = parsed.value;
  if (from !== null && to !== null && from >= to) {
    return refuse("invalid_field", 'Field "to" must be later than "from"', "to");
  }
  return { ok: true, value: { spec: { model, provider, from, to }, dryRun } };
}
