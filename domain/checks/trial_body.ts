/**
 * Validates the body of `POST /v1/checks/try`.
 *
 * @module
 */
import { z } from "zod";
import { whole } from "../config/body.ts";
import { CONFIG_SLUG } from "../config/objects.ts";
import type { Body } from "../core/body.ts";
import { refuse } from "../core/errors.ts";
import { agentSlug, optional, runId } from "../core/fields.ts";
import { isObject } from "../core/raw_json.ts";
import { check } from "../core/validate.ts";
import { checkBody, parseCheck } from "./check.ts";
import { compile } from "./compile.ts";
import type { Patterns } from "./program.ts";
import { type CheckTrial, TRIAL } from "./check_store.ts";

const CHECK = 'an object with "expression"';
const SLUG = "a slug of a check";

const slugBody = z.object({
  slug: optional(z.string(SLUG).regex(CONFIG_SLUG, SLUG))
    .describe("Its slug; without one `sample` does not apply."),
});

/**
 * Body of `POST /v1/checks/try`.
 *
 * @internal
 */
export const trialBody = z.object({
  check: checkBody.extend(slugBody.shape).meta({ id: "TriedCheck" })
    .describe("The check as in its PUT; `version` and `enabled` have no effect."),
  last: optional(whole({ min: 1, max: TRIAL.runsMax })).describe(
    `Number of the latest closed runs to judge that the check applies to; ${TRIAL.runs} when absent.`,
  ),
  agent: optional(agentSlug()).describe("Only runs of this agent."),
  run_id: optional(runId).describe(
    "The one run to judge, instead of `last` and `agent`. It is judged if the check applies to it.",
  ),
});

/** {@link trialBody} before the check is validated. */
const outerBody = trialBody.extend({
  check: z.custom<Body["value"]>(isObject, CHECK),
});

/** Validates the body of `POST /v1/checks/try`, and compiles its expression. */
export function parseTrial(
  { value }: Pick<Body, "value">,
  patterns: Patterns,
): CheckTrial {
  const { check: { slug: sentSlug, ...sent }, last, agent, run_id: run } = check(outerBody, value);
  const { slug = null } = check(slugBody, { slug: sentSlug }, "check.");
  const { settings } = parseCheck(sent, "check.");
  compile(settings.expression, patterns);
  if (run !== undefined && (last !== undefined || agent !== undefined)) {
    const message = 'Field "run_id" must be absent with "last" or "agent"';
    return refuse("invalid_field", message, "run_id");
  }
  const runs = run === undefined ? { last: last ?? TRIAL.runs, agent: agent ?? null } : { run };
  return { settings, slug, runs };
}
