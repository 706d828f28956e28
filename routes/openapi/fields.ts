/** Kinds of fields that several answers and parameters have. */
import { z } from "zod";
import { MATCH_STEPS } from "../../domain/money/rates.ts";
import { FINISH_STATUSES, HEARTBEAT_STATUSES } from "../../domain/run/run.ts";

/** An id that begins with a word and a region. */
export function idOf(prefix: string) {
  return z.string().meta({ pattern: `^${prefix}_(eu|us)_[0-9a-f]{32}$` });
}

/** An id that the server makes for a job. */
export const jobId = z.string().meta({ pattern: "^[0-9A-HJKMNP-TV-Z]{26}$" });

/** An instant as answers write it. */
export const instant = z.string().meta({
  format: "date-time",
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
});

/** An instant as clients write it: any offset of RFC 3339. */
export const sentInstant = z.string().meta({ format: "date-time" });

/** A UTC day. */
export const day = z.string().meta({ format: "date" });

/** A whole number from 0. */
export const count = z.number().meta({ type: "integer", minimum: 0 });

/** Dollars. */
export const dollars = z.number().meta({ minimum: 0 });

/** A run's status in the words of every read. */
export const runStatus = z.enum(["running", ...FINISH_STATUSES]);

/** A run's status in the words of heartbeats. */
export const heartbeatStatus = z.enum(HEARTBEAT_STATUSES);

/** An object that is kept as it was sent. */
export const anyObject = z.custom<object>().meta({ type: "object" });

/** How a model's name was found on the rate card. */
export const matchStep = z.enum(MATCH_STEPS);

/** How many to answer on a page. */
export function limitOf(page: { readonly default: number; readonly max: number }, what: string) {
  return z.int().min(1).max(page.max).default(page.default).describe(`${what} on the page.`);
}

/** Where to go on. */
export function cursorOf(name: string) {
  return z.string().optional().describe(`The \`${name}\` of the page before.`);
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
export const nextCursor = z.string().nullable()
  .describe("For the parameter of the same name, to get the next page; null at the end.");
