/**
 * Validates the body of `PUT /v1/silences/{slug}`.
 *
 * @module
 */
import { z } from "zod";
import { type ConfigRequest, isShort, matchNames, SHORT, versionField } from "../config/body.ts";
import { CONFIG_SLUG } from "../config/objects.ts";
import type { Body } from "../core/body.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { agentSlug, customer, instant, optional, text } from "../core/fields.ts";
import { formatInstant } from "../core/time.ts";
import { check } from "../core/validate.ts";
import type { AuditValue } from "../teams/audit_log.ts";
import { SILENCE_MS_MAX, type SilencePut, type SilenceSettings } from "./silence.ts";

/** Maximum characters of a comment. */
export const COMMENT_CHARS_MAX = 500;

const DAYS_MAX = SILENCE_MS_MAX / 86_400_000;
const RULE = "a slug of a rule";
const MATCH = 'an object with "rules", "agents" and "customers"';

/**
 * Body of `PUT /v1/silences/{slug}`.
 *
 * @internal
 */
export const silenceBody = z.object({
  match: z.strictObject({
    rules: matchNames(z.string(RULE).regex(CONFIG_SLUG, RULE)).describe("Slugs of rules."),
    agents: matchNames(agentSlug())
      .describe("Slugs of agents; `*` at the end matches any rest."),
    customers: matchNames(customer()).describe("Ids of customers."),
  }, MATCH).refine(isShort, SHORT).meta({ id: "SilenceMatchRequest" })
    .describe("What it mutes; an empty or absent list matches all."),
  from: optional(instant())
    .describe("Begin; when absent the time of the call, or the stored begin."),
  until: instant().describe(`End, in the future and at most ${DAYS_MAX} days from now.`),
  comment: optional(text(COMMENT_CHARS_MAX)).describe("Words for people, such as the reason."),
  version: versionField,
});

/** Validates the body of `PUT /v1/silences/{slug}`. */
export function parseSilence(body: Body, nowMs: number): Parsed<ConfigRequest<SilencePut>> {
  const parsed = check(silenceBody, body.value);
  if (!parsed.ok) return parsed;
  const { match, from, until, comment, version } = parsed.value;
  if (from !== undefined && from >= until) {
    return refuse("invalid_field", 'Field "from" must be before "until"', "from");
  }
  if (until <= nowMs) {
    return refuse("invalid_field", 'Field "until" must be in the future', "until");
  }
  if (until > nowMs + SILENCE_MS_MAX) {
    const latest = formatInstant(nowMs + SILENCE_MS_MAX);
    const message = `Field "until" must be at most ${DAYS_MAX} days from now: up to ${latest}`;
    return refuse("invalid_field", message, "until");
  }
  const settings = { match, fromMs: from ?? null, untilMs: until, comment: comment ?? null };
  return { ok: true, value: { settings, version: version ?? null } };
}

/** Returns a silence's settings under the field names of requests, responses and the audit log. */
export function silenceFields(settings: SilenceSettings): { readonly [name: string]: AuditValue } {
  return {
    match: { ...settings.match },
    from: formatInstant(settings.fromMs),
    until: formatInstant(settings.untilMs),
    comment: settings.comment,
  };
}
