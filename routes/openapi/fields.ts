/** Kinds of fields that several answers and parameters have. */
import { z } from "zod";
import { SLUG_PATTERN } from "../../domain/core/fields.ts";
import { AGENT_CHARS_MAX } from "../../domain/core/limits.ts";
import { MATCH_STEPS } from "../../domain/pricing/rates.ts";
import { sharedSchema } from "./shared.ts";
import { FINISH_STATUSES, HEARTBEAT_STATUSES } from "../../domain/runs/run.ts";

/** An id that begins with a word and a region. */
export function idOf(prefix: string) {
  return z.string().meta({ pattern: `^${prefix}_(eu|us)_[0-9a-f]{32}$` });
}

/** An id that the server makes for a job. */
export const jobId = z.string().meta({ pattern: "^[0-9A-HJKMNP-TV-Z]{26}$" });

/** An instant as answers write it. */
export const instantField = z.string().meta({
  format: "date-time",
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
});

/** An instant as clients write it: any offset of RFC 3339. */
export const sentInstantField = z.string().meta({ format: "date-time" });

/** A UTC day. */
export const day = z.string().meta({ format: "date" });

/** A UTC day or an instant, where lists begin or end. */
export const dayOrInstant = z.union([sentInstantField, day])
  .meta({ id: "DayOrInstant", description: "A UTC day such as 2026-01-31, or an instant." });

/** A month in UTC. */
export const month = z.string().meta({ pattern: "^(19[7-9][0-9]|20[0-9]{2})-(0[1-9]|1[0-2])$" });

/** A whole number from 0. */
export const count = z.number().meta({ type: "integer", minimum: 0 });

/** A whole number from 0, as clients send it. */
export const sentCountField = z.int().min(0);

/** Dollars. */
export const dollarsField = z.number().meta({ minimum: 0 });

/** How far a job is. */
export const jobState = z.enum(["waiting", "running", "done"]);

/** A run's status in the words of every read. */
export const runStatus = z.enum(["running", ...FINISH_STATUSES]);

/** A run's status in the words of heartbeats. */
export const heartbeatStatus = z.enum(HEARTBEAT_STATUSES);

/** An object of any content. */
export const anyObject = z.custom<object>().meta({ type: "object" });

/** Any value that JSON has. */
export const anyValue = z.unknown().meta({ id: "JsonValue", ...sharedSchema("JsonValue") });

/** The slug of an agent. */
export function slug() {
  return z.string().min(1).max(AGENT_CHARS_MAX).meta({ pattern: SLUG_PATTERN });
}

/** How a model's name was found on the rate card. */
export const matchStep = z.enum(MATCH_STEPS);

/** How many to answer on a page. */
export function limitOf(page: { readonly default: number; readonly max: number }, what: string) {
  return z.int().min(1).max(page.max).default(page.default).describe(`${what} on the page.`);
}

/** A place in a list: base64url. What is in it may change from one version to the next. */
export const cursor = z.string().meta({ pattern: "^[A-Za-z0-9_-]+$" });

/** Where to go on. */
export function cursorOf(name: string) {
  return cursor.optional().describe(`The \`${name}\` of the page before.`);
}

/** Names what the client has. */
export const ifNoneMatch = {
  "If-None-Match": z.string().optional().describe("An `ETag`: 304 while it is the same."),
};

/** Where the caller is. */
export const traceparent = {
  traceparent: z.string().optional()
    .describe("W3C Trace Context: links a run that this call opens to the caller's trace."),
};

/** Where the next page begins. */
export const nextCursor = cursor.nullable()
  .describe("For the parameter of the same name, to get the next page; null at the end.");
