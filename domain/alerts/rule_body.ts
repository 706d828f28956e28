/**
 * Validates the body of `PUT /v1/rules/{slug}`.
 *
 * @module
 */
import { z } from "zod";
import { SEVERITIES } from "../channels/message.ts";
import {
  type ConfigRequest,
  flag,
  isShort,
  matchNames,
  SHORT,
  slugs,
  someOf,
  versionField,
  whole,
} from "../config/body.ts";
import { CONFIG_OBJECTS_MAX } from "../config/objects.ts";
import type { Body } from "../core/body.ts";
import { type Parsed, refuse } from "../core/errors.ts";
import { agentSlug, customer, oneOf, optional, text } from "../core/fields.ts";
import { COST_USD_MAX, LABEL_CHARS_MAX } from "../core/limits.ts";
import { oneOfText } from "../core/text.ts";
import { checkClosed } from "../core/validate.ts";
import { dollarsText, picodollars } from "../pricing/money.ts";
import type { AuditValue } from "../teams/audit_log.ts";
import {
  BAD_STATUSES,
  GROUPS,
  MISSED_REASONS,
  OUTCOMES_MAX,
  RULE_KINDS,
  type RuleCondition,
  type RuleKind,
  type RuleSettings,
  SERVICE_TROUBLES,
  SPEND_PERIODS,
} from "./rule.ts";
import { QUOTA_PERCENTS } from "./rules.ts";

/** Minimum and maximum seconds of `stuck`; the default is a day. */
export const STUCK_SECONDS = { min: 60, max: 31_536_000, default: 86_400 } as const;

/** Minimum and maximum of `renotify_seconds`, unless it is 0. */
export const RENOTIFY_SECONDS = { min: 300, max: 604_800 } as const;

const USD = `an amount of dollars above 0 and up to ${COST_USD_MAX}, as a number or decimal text ` +
  "of at most 15 digits";
const RENOTIFY =
  `0, or an integer of seconds from ${RENOTIFY_SECONDS.min} to ${RENOTIFY_SECONDS.max}`;

const usd = z.union([z.number(), z.string()], USD).transform((sent, context): string => {
  const amount = usdText(sent);
  if (amount !== null) return amount;
  context.addIssue({ code: "custom", message: USD });
  return z.NEVER;
});

const inARow = optional(whole({ min: 1, max: OUTCOMES_MAX }));

const spendPeriod = oneOf("SpendPeriod", SPEND_PERIODS);
const count = z.int().min(0);

/**
 * Parameters of all kinds, for the document; {@link params} validates those of each kind.
 *
 * @internal
 */
export const ruleParams = z.object({
  statuses: z.array(oneOf("BadStatus", BAD_STATUSES)).optional().describe(
    `Of \`run_failed\`: ${BAD_STATUSES.join(", ")}.`,
  ),
  consecutive: count.optional().describe("Of `run_failed`: bad runs in a row."),
  usd: z.number().optional()
    .describe("Of `run_cost` and `spend`: US dollars. A request may send decimal text."),
  period: spendPeriod.optional()
    .describe(`Of \`spend\`: ${SPEND_PERIODS.join(", ")}, in UTC; weeks begin on Monday.`),
  reasons: z.array(oneOf("MissedReason", MISSED_REASONS)).optional().describe(
    `Of \`missed\`: ${MISSED_REASONS.join(", ")}.`,
  ),
  seconds: count.optional().describe("Of `stuck`: seconds for which a run may be open."),
  percents: z.array(count).optional().describe(`Of \`quota\`: ${QUOTA_PERCENTS.join(", ")}.`),
  what: z.array(oneOf("ServiceTrouble", SERVICE_TROUBLES)).optional().describe(
    `Of \`service\`: ${SERVICE_TROUBLES.join(", ")}.`,
  ),
}).meta({ id: "RuleParams" });

/** Parameters by kind, with their defaults. */
const params = {
  run_failed: z.strictObject({
    statuses: optional(someOf(BAD_STATUSES)).transform((sent) => sent ?? BAD_STATUSES),
    consecutive: inARow.transform((sent) => sent ?? 1),
  }, 'an object with "statuses" and "consecutive"'),
  run_cost: z.strictObject({ usd }, 'an object with "usd"'),
  spend: z.strictObject({
    usd,
    period: spendPeriod,
  }, 'an object with "usd" and "period"'),
  missed: z.strictObject({
    reasons: optional(someOf(MISSED_REASONS)).transform((sent) => sent ?? MISSED_REASONS),
  }, 'an object with "reasons"'),
  stuck: z.strictObject({
    seconds: optional(whole(STUCK_SECONDS)).transform((sent) => sent ?? STUCK_SECONDS.default),
  }, 'an object with "seconds"'),
  unpriced: z.strictObject({}, "an empty object"),
  quota: z.strictObject({
    percents: optional(someOf(QUOTA_PERCENTS)).transform((sent) => sent ?? QUOTA_PERCENTS),
  }, 'an object with "percents"'),
  service: z.strictObject({
    what: optional(someOf(SERVICE_TROUBLES)).transform((sent) => sent ?? SERVICE_TROUBLES),
  }, 'an object with "what"'),
} satisfies Record<RuleKind, z.ZodType>;

type Group = typeof GROUPS[number];
type MatchName = keyof RuleSettings["match"];

const OF_RUN = {
  groups: ["agent", "customer", "feature"],
  match: ["agents", "customers", "features"],
} as const;
const ALONE = { groups: [], match: [] } as const;

/** What each kind can be grouped by and matched with; `spend` by what it is grouped by. */
export const FITTING: Readonly<
  Record<RuleKind, {
    readonly groups: readonly (typeof GROUPS[number])[];
    readonly match: readonly (keyof RuleSettings["match"])[];
  }>
> = {
  run_failed: OF_RUN,
  run_cost: OF_RUN,
  spend: { groups: GROUPS, match: OF_RUN.match },
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

const MATCH = 'an object with "agents", "customers" and "features"';
const match = z.strictObject({
  agents: matchNames(agentSlug()).describe("Slugs of agents; `*` at the end matches any rest."),
  customers: matchNames(customer()).describe("Ids of customers."),
  features: matchNames(text(LABEL_CHARS_MAX)).describe("Features."),
}, MATCH).refine(isShort, SHORT).meta({ id: "RuleMatchRequest" });

const ALL: RuleSettings["match"] = { agents: [], customers: [], features: [] };
const MATCH_NAMES = Object.keys(ALL) as MatchName[];

/**
 * Body of `PUT /v1/rules/{slug}`.
 *
 * @internal
 */
export const ruleBody = z.object({
  kind: oneOf("RuleKind", RULE_KINDS).describe("What the rule is about."),
  params: optional(ruleParams).describe("Parameters of the kind."),
  match: optional(match).describe("What it applies to; an empty or absent list matches all."),
  group_by: optional(oneOf("RuleGroup", GROUPS)).describe(
    "One incident for each of these; one of the rule when absent. Runs: agent, customer or " +
      "feature; `spend` also model; `missed`: agent; `unpriced`: model; `quota`, `service`: none.",
  ),
  severity: optional(oneOf("Severity", SEVERITIES)).describe("`warning` when absent."),
  resolve_after: inARow.describe("Good outcomes in a row that resolve an incident; 1 when absent."),
  renotify_seconds: optional(
    z.int(RENOTIFY).refine(isRenotify, RENOTIFY).meta({
      minimum: 0,
      maximum: RENOTIFY_SECONDS.max,
    }),
  ).describe("Seconds until an open incident is sent again; 0, never, when absent."),
  channels: optional(slugs(CONFIG_OBJECTS_MAX.channel, "channels")).describe(
    "Channels that its messages go to; the default ones when absent or empty. A slug without a " +
      "channel receives nothing.",
  ),
  enabled: flag().describe("`false` opens nothing, and resolves what is open."),
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
    match: optional(match.refine((sent) => unfit.every((name) => isForAll(sent, name)), NO_MATCH)),
    group_by: optional(first === undefined ? never(NO_GROUP) : z.enum([first, ...rest], NO_GROUP)),
  });
}

function never(expected: string): z.ZodType<Group, unknown> {
  return z.custom<Group>(() => false, expected);
}

/** Validates the body of `PUT /v1/rules/{slug}`. */
export function parseRule(body: Body): Parsed<ConfigRequest<RuleSettings>> {
  const { kind } = body.value;
  const isKind = RULE_KINDS.some((known) => known === kind);
  const sent = isKind ? { ...body.value, params: body.value["params"] ?? {} } : body.value;
  const parsed = checkClosed(isKind ? BODIES[kind as RuleKind] : ruleBody, sent);
  if (!parsed.ok) return parsed;
  const fields = parsed.value;
  const groupBy = fields.group_by ?? null;
  const sentMatch = fields.match ?? ALL;
  const fitting = fields.kind === "spend"
    ? groupBy === null ? [] : [MATCH_OF_GROUP[groupBy]]
    : FITTING[fields.kind].match;
  const unfit = MATCH_NAMES.find((name) => !fitting.includes(name) && !isForAll(sentMatch, name));
  if (unfit !== undefined) return unfitForSpend(unfit);
  const settings: RuleSettings = {
    condition: { kind: fields.kind, ...fields.params as object } as RuleCondition,
    match: fitting.includes("agents") ? sentMatch : { ...sentMatch, agents: [] },
    groupBy,
    severity: fields.severity ?? "warning",
    resolveAfter: fields.resolve_after ?? 1,
    renotifySeconds: fields.renotify_seconds ?? 0,
    channels: fields.channels ?? [],
    enabled: fields.enabled ?? true,
  };
  return { ok: true, value: { settings, version: fields.version ?? null } };
}

/** Returns a rule's settings under the field names of requests, responses and the audit log. */
export function ruleFields(settings: RuleSettings): { readonly [name: string]: AuditValue } {
  const { kind, ...sent } = settings.condition;
  // The text was checked to be exact as a number.
  const params = "usd" in sent ? { ...sent, usd: Number(sent.usd) } : sent;
  return {
    kind,
    params,
    match: { ...settings.match },
    group_by: settings.groupBy,
    severity: settings.severity,
    resolve_after: settings.resolveAfter,
    renotify_seconds: settings.renotifySeconds,
    channels: settings.channels,
    enabled: settings.enabled,
  };
}

/** Refuses names that a sum of spend does not have: each sum is of one name alone. */
function unfitForSpend<T>(unfit: MatchName): Parsed<T> {
  const message =
    `Field "match.${unfit}" must be empty: a rule of the kind "spend" can only match ` +
    'what it is grouped by with "group_by"';
  return refuse("invalid_field", message, "match");
}

/** Returns whether a list of names excludes nothing. */
function isForAll(match: RuleSettings["match"], name: MatchName): boolean {
  return match[name].length === 0 || name === "agents" && match.agents.includes("*");
}

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

function isRenotify(seconds: number): boolean {
  return seconds === 0 || seconds >= RENOTIFY_SECONDS.min && seconds <= RENOTIFY_SECONDS.max;
}
