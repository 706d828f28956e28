/**
 * Validates the parameters of rules by their kind.
 *
 * @module
 */
import { z } from "zod";
import { CHECKS } from "../checks/check.ts";
import { slugs, someOf, whole, withDefault } from "../config/body.ts";
import { CONFIG_SLUG } from "../config/objects.ts";
import { oneOf, optional } from "../core/fields.ts";
import { COST_USD_MAX } from "../core/limits.ts";
import { OUTCOMES_MAX } from "../outcomes/window.ts";
import { dollarsText, picodollars } from "../pricing/money.ts";
import { CHECK_SEVERITIES } from "../runs/check_result.ts";
import {
  BAD_STATUSES,
  BUDGETS_MAX,
  MISSED_REASONS,
  type RuleKind,
  RUN_SCOPES,
  SERVICE_TROUBLES,
  SPEND_PERIODS,
} from "./rule.ts";
import { QUOTA_PERCENTS } from "./rules.ts";

/** Minimum and maximum seconds of `stuck`; the default is a day. */
export const STUCK_SECONDS = { min: 60, max: 31_536_000, default: 86_400 } as const;

const USD = `an amount of dollars above 0 and up to ${COST_USD_MAX}, as a number or decimal text ` +
  "of at most 15 digits";

const usd = z.union([z.number(), z.string()], USD).transform((sent, context): string => {
  const amount = usdText(sent);
  if (amount !== null) return amount;
  context.addIssue({ code: "custom", message: USD });
  return z.NEVER;
});

/**
 * Schema of a number of outcomes in a row.
 *
 * @internal
 */
export const inARow = withDefault(whole({ min: 1, max: OUTCOMES_MAX }), 1);

const spendPeriod = oneOf("SpendPeriod", SPEND_PERIODS);
const checkSeverity = oneOf("CheckSeverity", CHECK_SEVERITIES);
const count = z.int().min(0);

/** Runs that a rule about runs judges; a stored rule has `all` alone. */
const runs = optional(oneOf("RunScope", RUN_SCOPES));

function withRuns<Params extends { readonly runs?: typeof RUN_SCOPES[number] | undefined }>(
  { runs, ...params }: Params,
): Omit<Params, "runs"> & { readonly runs?: "all" } {
  return { ...params, ...runs === "all" ? { runs } : {} };
}

/**
 * Parameters of all kinds, for the document; {@link params} validates those of each kind.
 *
 * @internal
 */
export const ruleParams = z.object({
  statuses: z.array(oneOf("BadStatus", BAD_STATUSES)).optional().describe(
    `Of \`run_failed\`: ${BAD_STATUSES.join(", ")}.`,
  ),
  consecutive: count.optional().describe("Of `run_failed` and `check_failed`: bad runs in a row."),
  checks: z.array(z.string().meta({ pattern: CONFIG_SLUG.source })).optional()
    .describe(
      "Of `check_failed`: slugs of checks; empty for all. One without a check adds nothing.",
    ),
  severity_min: checkSeverity.optional().describe(
    `Of \`check_failed\`: least severity of a failure, of ${
      CHECK_SEVERITIES.join(", ")
    }. A check ` +
      "that could not be decided counts as `warn`.",
  ),
  runs: oneOf("RunScope", RUN_SCOPES).optional().describe(
    "Of `run_failed`, `check_failed`, `run_cost` and `stuck`: `root`, runs that no other run " +
      "started, or `all`, child runs too.",
  ),
  usd: z.number().optional()
    .describe("Of `run_cost` and `spend`: US dollars. A request may send decimal text."),
  period: spendPeriod.optional()
    .describe(`Of \`spend\`: ${SPEND_PERIODS.join(", ")}, in UTC; weeks begin on Monday.`),
  budgets: z.array(z.string().meta({ pattern: CONFIG_SLUG.source })).optional()
    .describe("Of `budget`: slugs of budgets; empty for all."),
  reasons: z.array(oneOf("MissedReason", MISSED_REASONS)).optional().describe(
    `Of \`missed\`: ${MISSED_REASONS.join(", ")}.`,
  ),
  seconds: count.optional().describe("Of `stuck`: seconds for which a run may be open."),
  percents: z.array(count).optional().describe(`Of \`quota\`: ${QUOTA_PERCENTS.join(", ")}.`),
  what: z.array(oneOf("ServiceTrouble", SERVICE_TROUBLES)).optional().describe(
    `Of \`service\`: ${SERVICE_TROUBLES.join(", ")}.`,
  ),
}).meta({ id: "RuleParams" });

/**
 * Parameters by kind, with their defaults.
 *
 * @internal
 */
export const params = {
  run_failed: z.strictObject({
    statuses: withDefault(someOf(BAD_STATUSES), BAD_STATUSES),
    consecutive: inARow,
    runs,
  }, 'an object with "statuses", "consecutive" and "runs"').transform(withRuns),
  check_failed: z.strictObject({
    checks: withDefault(slugs(CHECKS.cap, "checks"), []),
    severity_min: withDefault(checkSeverity, "warn"),
    consecutive: inARow,
    runs,
  }, 'an object with "checks", "severity_min", "consecutive" and "runs"')
    .transform(({ severity_min: severityMin, ...rest }) => withRuns({ ...rest, severityMin })),
  run_cost: z.strictObject({ usd, runs }, 'an object with "usd" and "runs"').transform(withRuns),
  spend: z.strictObject({
    usd,
    period: spendPeriod,
  }, 'an object with "usd" and "period"'),
  budget: z.strictObject({
    budgets: withDefault(slugs(BUDGETS_MAX, "budgets"), []),
  }, 'an object with "budgets"'),
  missed: z.strictObject({
    reasons: withDefault(someOf(MISSED_REASONS), MISSED_REASONS),
  }, 'an object with "reasons"'),
  stuck: z.strictObject({
    seconds: withDefault(whole(STUCK_SECONDS), STUCK_SECONDS.default),
    runs,
  }, 'an object with "seconds" and "runs"').transform(withRuns),
  unpriced: z.strictObject({}, "an empty object"),
  quota: z.strictObject({
    percents: withDefault(someOf(QUOTA_PERCENTS), QUOTA_PERCENTS),
  }, 'an object with "percents"'),
  service: z.strictObject({
    what: withDefault(someOf(SERVICE_TROUBLES), SERVICE_TROUBLES),
  }, 'an object with "what"'),
} satisfies Record<RuleKind, z.ZodType>;

/** Returns an amount as the shortest decimal text; null if it is out of range or has too many digits. */
function usdText(sent: number | string): string | null {
  if (typeof sent === "string" && !/^\d{1,7}(\.\d{1,12})?$/.test(sent)) return null;
  const value = Number(sent);
  if (!(value > 0 && value <= COST_USD_MAX)) return null;
  const amount = dollarsText(picodollars(value));
  if (typeof sent === "number") return amount === "0" ? null : amount;
  const [whole = "", fraction = ""] = sent.split(".");
  const shortest = `${BigInt(whole)}.${fraction}`.replace(/\.?0*$/, "");
  return amount === shortest ? amount : null;
}
