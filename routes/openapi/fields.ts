/** Schemas of fields that several responses and parameters share. */
import { z } from "zod";
import { instantText, SLUG_PATTERN } from "../../domain/core/fields.ts";
import { AGENT_CHARS_MAX } from "../../domain/core/limits.ts";
import { MATCH_STEPS } from "../../domain/pricing/rates.ts";
import { FINISH_STATUSES } from "../../domain/runs/run.ts";

/** An id with a prefix and a region. */
export function idOf(prefix: string) {
  return z.string().meta({ pattern: `^${prefix}_(eu|us)_[0-9a-f]{32}$` });
}

/** An id minted by the server, such as a job's. */
export const jobId = z.string().meta({ pattern: "^[0-9A-HJKMNP-TV-Z]{26}$" });

/** A UTC day. */
export const day = z.string().meta({ format: "date" });

/** A UTC day or an instant, as bound of a range. */
export const dayOrInstant = z.union([instantText, day])
  .meta({ id: "DayOrInstant", description: "A UTC day such as 2026-01-31, or an instant." });

/** Parameters of a range of instants. */
export const RANGE = {
  from: instantText.optional().describe("Start of the range, inclusive."),
  to: instantText.optional().describe("End of the range, exclusive; not before `from`."),
};

/** A month in UTC. */
export const month = z.string().meta({ pattern: "^(19[7-9][0-9]|20[0-9]{2})-(0[1-9]|1[0-2])$" });

/** A non-negative integer in requests. */
export const sentCountField = z.int().min(0);

/** Status of a run in reads. */
export const runStatus = z.enum(["running", ...FINISH_STATUSES]).meta({ id: "RunStatus" });

/** The slug of an agent. */
export function slug() {
  return z.string().min(1).max(AGENT_CHARS_MAX).meta({ pattern: SLUG_PATTERN });
}

/** Step of the lookup that matched a model's name to the rate card. */
export const matchStep = z.enum(MATCH_STEPS).meta({ id: "MatchStep" });

/** Origin of a row of the rate card. */
export const rateSource = z.enum(["own", "default"]).meta({ id: "RateSource" });

/** Maximum items of a page. */
export function limitOf(page: { readonly default: number; readonly max: number }, what: string) {
  return z.int().min(1).max(page.max).default(page.default).describe(
    `Maximum number of ${what} per page.`,
  );
}

/** A list position as base64url. Its content may change between versions. */
export const cursor = z.string().meta({ pattern: "^[A-Za-z0-9_-]+$" });

/** Parameter that continues a list after a page. */
export function cursorOf(name: string) {
  return cursor.optional().describe(`The \`${name}\` of the previous page.`);
}

/** Header of conditional reads. */
export const ifNoneMatch = {
  "If-None-Match": z.string().optional().describe(
    "An `ETag` of an earlier response: the answer is 304 while it is current.",
  ),
};

/** Trace context of the caller. */
export const traceparent = {
  traceparent: z.string().optional()
    .describe("W3C Trace Context: links a run that this call opens to the caller's trace."),
};
