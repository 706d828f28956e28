/**
 * Validates the body of `PUT /v1/checks/{slug}`.
 *
 * @module
 */
import { z } from "zod";
import {
  type ConfigRequest,
  flag,
  isShort,
  MATCH_CHARS_MAX,
  matchNames,
  someOf,
  versionField,
} from "../config/body.ts";
import type { Body } from "../core/body.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { agentSlug, oneOf, optional, text } from "../core/fields.ts";
import { LABEL_CHARS_MAX } from "../core/limits.ts";
import { check } from "../core/validate.ts";
import { CHECK_SEVERITIES } from "../runs/check_result.ts";
import { FINISH_STATUSES } from "../runs/run.ts";
import { RUN_KINDS } from "../runs/flags.ts";
import type { AuditValue } from "../teams/audit_log.ts";
import { type CheckSettings, EXPRESSION_CHARS_MAX } from "./check.ts";

/** Maximum characters of a description. */
export const DESCRIPTION_CHARS_MAX = 500;

const EXPRESSION = `an expression of 1 to ${EXPRESSION_CHARS_MAX} characters`;
const SAMPLE = "a number above 0 and up to 1";

/**
 * Body of `PUT /v1/checks/{slug}`.
 *
 * @internal
 */
export const checkBody = z.object({
  expression: text(EXPRESSION_CHARS_MAX).refine((sent) => sent !== "", EXPRESSION)
    .meta({ minLength: 1, maxLength: EXPRESSION_CHARS_MAX })
    .describe("CEL expression that is true for a good run."),
  agents: matchNames(agentSlug()).transform((sent) => sent.length === 0 ? ["*"] : sent).describe(
    "Slugs of agents whose runs it judges; `*` at the end matches any rest. All when absent or " +
      "empty.",
  ),
  kinds: optional(someOf(RUN_KINDS, "RunKind")).transform((sent) => sent ?? RUN_KINDS)
    .describe("Kinds of runs; all when absent."),
  statuses: optional(someOf(FINISH_STATUSES, "FinishStatus"))
    .transform((sent) => sent ?? FINISH_STATUSES).describe("Statuses of runs; all when absent."),
  features: matchNames(text(LABEL_CHARS_MAX)).describe("Features; all when absent or empty."),
  severity: optional(oneOf("CheckSeverity", CHECK_SEVERITIES)).describe(
    "What a failure means: `info` is shown, `warn` may open an incident, `fail` (when absent) also " +
      "gives the run the trait `failed_check`.",
  ),
  sample: optional(
    z.number(SAMPLE).gt(0, SAMPLE).max(1, SAMPLE),
  ).describe("Share of the runs that it judges; 1 when absent."),
  enabled: flag().describe("`false` judges nothing; `true` when absent."),
  description: optional(text(DESCRIPTION_CHARS_MAX)).describe("Words for people."),
  version: versionField,
});

/** Validates the body of `PUT /v1/checks/{slug}`; its expression is compiled elsewhere. */
export function parseCheck({ value }: Pick<Body, "value">): Parsed<ConfigRequest<CheckSettings>> {
  return parseSettings(value, "");
}

/**
 * Validates the fields of a check.
 *
 * @param where prefix of the fields' names in messages
 */
export function parseSettings(
  fields: Body["value"],
  where: string,
): Parsed<ConfigRequest<CheckSettings>> {
  const parsed = check(checkBody, fields, where);
  if (!parsed.ok) return parsed;
  const { version = null, severity = "fail", sample = 1, enabled = true, description = null } =
    parsed.value;
  const { expression, agents, kinds, statuses, features } = parsed.value;
  if (!isShort({ agents, features })) {
    const message = `Fields "${where}agents" and "${where}features" must be names of at most ` +
      `${MATCH_CHARS_MAX} characters together`;
    return refuse("invalid_field", message, "features");
  }
  const of = { agents, kinds, statuses, features };
  const settings = { expression, ...of, severity, sample, enabled, description };
  return { ok: true, value: { settings, version } };
}

/** Returns a check's settings under the field names of requests, responses and the audit log. */
export function checkFields(settings: CheckSettings): { readonly [name: string]: AuditValue } {
  return { ...settings };
}
