/**
 * Rules as configured objects: their schema by kind, and their fields.
 *
 * @module
 */
import { z } from "zod";
import { SEVERITIES } from "../channels/message.ts";
import {
  flag,
  isShort,
  matchNames,
  SHORT,
  slugs,
  someOf,
  versionField,
  whole,
  withDefault,
} from "../config/body.ts";
import { CHANNELS } from "../channels/channel_body.ts";
import {
  CONFIG_SLUG,
  type ConfigRequest,
  type ObjectFields,
  type ObjectKind,
} from "../config/objects.ts";
import type { JsonFields } from "../core/body.ts";
import { refuse } from "../core/errors.ts";
import { agentSlug, customer, oneOf, optional, text } from "../core/fields.ts";
import { COST_USD_MAX, LABEL_CHARS_MAX } from "../core/limits.ts";
import { oneOfText } from "../core/text.ts";
import { check } from "../core/validate.ts";
import {
  BAD_STATUSES,
  BUDGETS_MAX,
  DEFAULT_RULES,
  GROUPS,
  isOfRuns,
  MISSED_REASONS,
  QUOTA_PERCENTS,
  RULE_KINDS,
  type RuleCondition,
  type RuleKind,
  type RuleSettings,
  RUN_SCOPES,
  SERVICE_PROBLEMS,
  SPEND_PERIODS,
} from "./rule.ts";
import { CHECKS } from "../checks/check.ts";
import { OUTCOMES_MAX } from "../outcomes/window.ts";
import { dollarsText, picodollars } from "../pricing/money.ts";
import { CHECK_SEVERITIES } from "../runs/check_result.ts";

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
  what: z.array(oneOf("ServiceProblem", SERVICE_PROBLEMS)).optional().describe(
    `Of \`service\`: ${SERVICE_PROBLEMS.join(", ")}.`,
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
    what: withDefault(someOf(SERVICE_PROBLEMS), SERVICE_PROBLEMS),
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

/** Minimum and maximum of `renotify_seconds`, unless it is 0. */
export const RENOTIFY_SECONDS = { min: 300, max: 604_800 } as const;

const RENOTIFY =
  `0, or an integer of seconds from ${RENOTIFY_SECONDS.min} to ${RENOTIFY_SECONDS.max}`;

type Group = typeof GROUPS[number];
type MatchName = keyof RuleSettings["match"];

const OF_RUN = {
  groups: ["agent", "customer", "feature"],
  match: ["agents", "customers", "features"],
} as const;
const ALONE = { groups: [], match: [] } as const;

/** Groups and matches of each kind; those of `spend` depend on its group. */
export const FITTING: Readonly<
  Record<RuleKind, {
    readonly groups: readonly (typeof GROUPS[number])[];
    readonly match: readonly (keyof RuleSettings["match"])[];
  }>
> = {
  run_failed: OF_RUN,
  check_failed: OF_RUN,
  run_cost: OF_RUN,
  spend: { groups: GROUPS, match: OF_RUN.match },
  budget: ALONE,
  missed: { groups: ["agent"], match: ["agents"] },
  stuck: OF_RUN,
  unpriced: { groups: ["model"], match: [] },
  quota: ALONE,
  service: ALONE,
};

/** Names of a `match` by what `spend` is grouped by. */
const MATCH_OF_GROUP: Readonly<Record<Group, MatchName | null>> = {
  agent: "agents",
  customer: "customers",
  feature: "features",
  model: null,
};

const ALL: RuleSettings["match"] = { agents: [], customers: [], features: [] };
const MATCH_NAMES = Object.keys(ALL) as MatchName[];

const MATCH = 'an object with "agents", "customers" and "features"';
const match = z.strictObject({
  agents: matchNames(agentSlug()).describe("Slugs of agents; `*` at the end matches any rest."),
  customers: matchNames(customer()).describe("Ids of customers."),
  features: matchNames(text(LABEL_CHARS_MAX)).describe("Features."),
}, MATCH).refine(isShort, SHORT).meta({ id: "RuleMatchRequest" });

/**
 * Body of `PUT /v1/rules/{slug}`.
 *
 * @internal
 */
export const ruleBody = z.object({
  kind: oneOf("RuleKind", RULE_KINDS).describe("What the rule is about."),
  params: withDefault(ruleParams, {}).describe("Parameters of the kind."),
  match: withDefault(match, ALL).describe(
    "What it applies to; an empty or absent list matches all.",
  ),
  group_by: withDefault(oneOf("RuleGroup", GROUPS), null).describe(
    "One incident for each of these; one of the rule when absent. Runs: agent, customer or " +
      "feature; `spend` also model; `missed`: agent; `unpriced`: model; `budget`, which has one for " +
      "each mark, period and group of a budget, `quota` and `service`: none.",
  ),
  severity: withDefault(oneOf("Severity", SEVERITIES), "warning").describe(
    "`warning` when absent.",
  ),
  resolve_after: inARow.describe("Good outcomes in a row that resolve an incident; 1 when absent."),
  renotify_seconds: withDefault(
    z.int(RENOTIFY).refine(isRenotify, RENOTIFY).meta({
      minimum: 0,
      maximum: RENOTIFY_SECONDS.max,
    }),
    0,
  ).describe("Seconds until an open incident is sent again; 0, never, when absent."),
  channels: withDefault(slugs(CHANNELS.cap, "channels"), []).describe(
    "Channels that its messages go to; the default ones when absent or empty, or when none of " +
      "these slugs has a channel.",
  ),
  enabled: flag(true).describe("`false` opens nothing, and resolves what is open."),
  version: versionField,
});

/** Bodies by kind, with the same fields in the same order. */
const BODIES = Object.fromEntries(RULE_KINDS.map((kind) => [kind, bodyOf(kind)])) as Readonly<
  Record<RuleKind, ReturnType<typeof bodyOf>>
>;

function bodyOf(kind: RuleKind) {
  const { groups, match: fitting } = FITTING[kind];
  const unfit = MATCH_NAMES.filter((name) => !fitting.includes(name));
  const NO_MATCH = `without ${unfit.map((name) => `"${name}"`).join(", ")} for the kind "${kind}"`;
  const [first, ...rest] = groups;
  const NO_GROUP = first === undefined
    ? `absent for the kind "${kind}"`
    : `${oneOfText(groups)} or absent for the kind "${kind}"`;
  return ruleBody.extend({
    params: params[kind] as z.ZodType<object, unknown>,
    match: withDefault(
      match.refine((sent) => unfit.every((name) => isForAll(sent, name)), NO_MATCH),
      ALL,
    ),
    group_by: withDefault(
      first === undefined ? never(NO_GROUP) : z.enum([first, ...rest], NO_GROUP),
      null,
    ),
  });
}

function never(expected: string): z.ZodType<Group, unknown> {
  return z.custom<Group>(() => false, expected);
}

/** Validates the body of `PUT /v1/rules/{slug}`. */
function parseRule(body: JsonFields): ConfigRequest<RuleSettings> {
  const { kind } = body;
  const isKind = RULE_KINDS.some((known) => known === kind);
  const sent = isKind ? { ...body, params: body["params"] ?? {} } : body;
  const fields = check(isKind ? BODIES[kind as RuleKind] : ruleBody, sent);
  const fitting = fields.kind === "spend"
    ? fields.group_by === null ? [] : [MATCH_OF_GROUP[fields.group_by]]
    : FITTING[fields.kind].match;
  const unfit = MATCH_NAMES.find((name) =>
    !fitting.includes(name) && !isForAll(fields.match, name)
  );
  if (unfit !== undefined) return unfitForSpend(unfit);
  const settings: RuleSettings = {
    condition: { kind: fields.kind, ...fields.params as object } as RuleCondition,
    match: fitting.includes("agents") ? fields.match : { ...fields.match, agents: [] },
    groupBy: fields.group_by,
    severity: fields.severity,
    resolveAfter: fields.resolve_after,
    renotifySeconds: fields.renotify_seconds,
    channels: fields.channels,
    enabled: fields.enabled,
  };
  return { settings, version: fields.version };
}

/** Rules. The loop evaluates what a changed rule leaves open. */
export const RULES: ObjectKind<RuleSettings> = {
  kind: "rule",
  prefix: "rul",
  cap: 100,
  schema: ruleBody,
  variants: { field: "kind", schemas: BODIES },
  defaults: DEFAULT_RULES,
  parse: parseRule,
  fieldsOf: (settings) => ({
    kind: settings.condition.kind,
    params: paramsOf(settings.condition),
    match: { ...settings.match },
    group_by: settings.groupBy,
    severity: settings.severity,
    resolve_after: settings.resolveAfter,
    renotify_seconds: settings.renotifySeconds,
    channels: settings.channels,
    enabled: settings.enabled,
  }),
  follow: ({ atMs }) => ({ file: [{ kind: "rule", at: atMs }] }),
};

function paramsOf(condition: RuleCondition): ObjectFields {
  const runs = isOfRuns(condition) ? { runs: condition.runs ?? "root" } : {};
  if (condition.kind === "check_failed") {
    const { checks, severityMin, consecutive } = condition;
    return { checks, severity_min: severityMin, consecutive, ...runs };
  }
  const { kind: _, ...params } = condition;
  const sent = { ...params, ...runs };
  // The text was checked to be exact as a number.
  return "usd" in sent ? { ...sent, usd: Number(sent.usd) } : sent;
}

/** Refuses names that a sum of spend does not have: each sum is of one name alone. */
function unfitForSpend(unfit: MatchName): never {
  const message =
    `Field "match.${unfit}" must be empty: a rule of the kind "spend" can only match ` +
    'what it is grouped by with "group_by"';
  return refuse("invalid_field", message, "match");
}

/** Returns whether a list of names excludes nothing. */
function isForAll(match: RuleSettings["match"], name: MatchName): boolean {
  return match[name].length === 0 || name === "agents" && match.agents.includes("*");
}

function isRenotify(seconds: number): boolean {
  return seconds === 0 || seconds >= RENOTIFY_SECONDS.min && seconds <= RENOTIFY_SECONDS.max;
}
