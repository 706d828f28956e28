/**
 * Validates the body of `POST /v1/rate-card/reprice`.
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

/** Request for a repricing job. */
export interface RepriceRequest {
  /** Calls to reprice. */
  readonly spec: RepriceSpec;
  /** True to report the changes without making them. */
  readonly dryRun: boolean;
}

const NAME = `a name as the calls sent it, of 1 to ${LABEL_CHARS_MAX} characters`;

const label = z.string(NAME)
  .refine((value) => value !== "" && isText(value, LABEL_CHARS_MAX), NAME)
  .meta({ minLength: 1, maxLength: LABEL_CHARS_MAX });

/**
 * Body of `POST /v1/rate-card/reprice`.
 *
 * @internal
 */
export const repriceBody = z.object({
  model: label.describe("The model, as the calls named it."),
  provider: optional(label)
    .describe("The provider, as the calls named it; any provider when absent."),
  from: optional(instant()).describe("Runs that started at this time or later."),
  to: optional(instant())
    .describe("Runs that started before this time; must be later than `from`."),
  dry_run: optional(z.boolean("true or false"))
    .describe("`true` calculates the changes without applying them."),
});

/** Validates the body. */
export function parseReprice(body: Body): Parsed<RepriceRequest> {
  const parsed = check(repriceBody, body.value);
  if (!parsed.ok) return parsed;
  const { model, provider = null, from = null, to = null, dry_run: dryRun = false } = parsed.value;
  if (from !== null && to !== null && from >= to) {
    return refuse("invalid_field", 'Field "to" must be later than "from"', "to");
  }
  return { ok: true, value: { spec: { model, provider, from, to }, dryRun } };
}
