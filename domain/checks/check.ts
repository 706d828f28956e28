/**
 * Checks: expressions that judge closed runs (decisions 60 to 68).
 *
 * @module
 */
import { z } from "zod";
import {
  flag,
  matchNames,
  refuseLongNames,
  someOf,
  versionField,
  withDefault,
} from "../config/body.ts";
import type { ConfigObject, ConfigRequest, ObjectKind } from "../config/objects.ts";
import type { JsonFields } from "../core/body.ts";
import { agentSlug, oneOf, text } from "../core/fields.ts";
import { LABEL_CHARS_MAX } from "../core/limits.ts";
import { check } from "../core/validate.ts";
import { CHECK_SEVERITIES } from "../runs/check_result.ts";
import { RUN_KINDS } from "../runs/cost.ts";
import { FINISH_STATUSES } from "../runs/run.ts";
import type { Program } from "./program.ts";

/**
 * Settings of a check, as sent.
 *
 * @internal
 */
export type CheckSettings = Omit<z.output<typeof checkBody>, "version">;

/** A check. */
export type Check = ConfigObject<CheckSettings>;

/** A check, ready to judge. */
export interface CompiledCheck extends Omit<Check, "id"> {
  /** Identifier, `chk_eu_…`. */
  readonly id: string;
  /** Its compiled expression. */
  readonly program: Program;
}

/** Maximum checks that judge one run: the first by slug. */
export const CHECKS_PER_RUN_MAX = 50;

/** Maximum characters of an expression. */
export const EXPRESSION_CHARS_MAX = 1_000;

/** Maximum characters of a description. */
export const DESCRIPTION_CHARS_MAX = 500;

const EXPRESSION = `an expression of 1 to ${EXPRESSION_CHARS_MAX} characters`;
const SAMPLE = "a number above 0 and up to 1";

/**
 * Schemas of the runs that a check or a judge judges.
 *
 * @param none ends the sentence about the agents of an absent list
 * @internal
 */
export function runFields(none: string) {
  return {
    agents: matchNames(agentSlug()).transform((sent) => sent.length === 0 ? ["*"] : sent).describe(
      "Slugs of agents whose runs it judges; `*` at the end matches any rest. All when absent or " +
        none,
    ),
    kinds: withDefault(someOf(RUN_KINDS, "RunKind"), RUN_KINDS)
      .describe("Kinds of runs; all when absent."),
    statuses: withDefault(someOf(FINISH_STATUSES, "FinishStatus"), FINISH_STATUSES)
      .describe("Statuses of runs; all when absent."),
    features: matchNames(text(LABEL_CHARS_MAX)).describe("Features; all when absent or empty."),
  };
}

/**
 * Schema of the share of runs that are judged.
 *
 * @internal
 */
export const sample = withDefault(z.number(SAMPLE).gt(0, SAMPLE).max(1, SAMPLE), 1)
  .describe("Share of the runs that it judges; 1 when absent.");

/**
 * Body of `PUT /v1/checks/{slug}`.
 *
 * @internal
 */
export const checkBody = z.object({
  expression: text(EXPRESSION_CHARS_MAX).refine((sent) => sent !== "", EXPRESSION)
    .meta({ minLength: 1, maxLength: EXPRESSION_CHARS_MAX })
    .describe("CEL expression that is true for a good run."),
  ...runFields("empty."),
  severity: withDefault(oneOf("CheckSeverity", CHECK_SEVERITIES), "fail").describe(
    "What a failure means: `info` is shown, `warn` may open an incident, `fail` (when absent) also " +
      "gives the run the trait `failed_check`.",
  ),
  sample,
  enabled: flag(true).describe("`false` judges nothing; `true` when absent."),
  description: withDefault(text(DESCRIPTION_CHARS_MAX), null).describe("Words for people."),
  version: versionField,
});

/**
 * Validates the fields of a check; its expression is compiled elsewhere.
 *
 * @param where prefix of the fields' names in messages
 */
export function parseCheck(fields: JsonFields, where = ""): ConfigRequest<CheckSettings> {
  const { version, ...settings } = check(checkBody, fields, where);
  refuseLongNames(settings, where);
  return { settings, version };
}

/** Checks; the store also refuses an expression that does not compile. */
export const CHECKS: ObjectKind<CheckSettings> = {
  kind: "check",
  prefix: "chk",
  cap: 100,
  schema: checkBody,
  parse: (body) => parseCheck(body),
  fieldsOf: (settings) => ({ ...settings }),
};
