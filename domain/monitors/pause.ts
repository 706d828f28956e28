/**
 * Validates the body of a pause of a monitor.
 *
 * @module
 */
import { z } from "zod";
import type { Body } from "../core/body.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { instant, optional } from "../core/fields.ts";
import { check } from "../core/validate.ts";
import type { MonitorPause } from "./monitor.ts";

/**
 * Body of `POST /v1/agents/{slug}/monitor/pause`.
 *
 * @internal
 */
export const pauseBody = z.object({
  until: optional(instant()).describe("End of the pause, in the future; no end when absent."),
  sticky: optional(z.boolean("true or false"))
    .describe("True if a successful run does not end the pause; false by default."),
});

/** Parses a pause. */
export function parsePause(body: Body, nowMs: number): Parsed<MonitorPause> {
  const parsed = check(pauseBody, body.value);
  if (!parsed.ok) return parsed;
  const { until, sticky = false } = parsed.value;
  if (until !== undefined && until <= nowMs) {
    return refuse("invalid_field", 'Field "until" must be in the future', "until");
  }
  return { ok: true, value: { untilMs: until ?? null, isSticky: sticky } };
}
