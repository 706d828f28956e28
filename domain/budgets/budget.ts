/**
 * Budgets and pauses: what runs may cost, and what may not run at all (G1 to G3).
 *
 * Settings have the names of the wire.
 *
 * @module
 */
import { z } from "zod";
import { kindName } from "../alerts/signal.ts";
import { BUDGETS_MAX, SPEND_PERIODS } from "../alerts/rule.ts";
import { flag, kindAsSent, withDefault } from "../config/body.ts";
import type { ConfigObject, ObjectFields, ObjectKind } from "../config/objects.ts";
import { refuse } from "../core/errors.ts";
import { agentSlug, customer, instant, oneOf, optional, text } from "../core/fields.ts";
import { COST_USD_MAX, LABEL_CHARS_MAX } from "../core/limits.ts";
import { formatInstant, formatInstantOrNull } from "../core/time.ts";
import { dollarsText, picodollars } from "../pricing/money.ts";
import type { RunLabels } from "../runs/run.ts";

/** Periods of budgets, in UTC; weeks begin on Monday. `run` is each run for itself. */
export const BUDGET_PERIODS = ["run", ...SPEND_PERIODS] as const;

/** Effects of a budget that is used up: none, a warning, or a block. */
export const BUDGET_MODES = ["observe", "soft", "hard"] as const;

/** Labels that a budget may be about. */
export const BUDGET_LABELS = ["agent", "customer", "feature"] as const;

/** One of {@link BUDGET_LABELS}. */
export type BudgetLabel = typeof BUDGET_LABELS[number];

/** Labels of a run, or of one that asks whether it may start. */
export type GuardSubject = Pick<RunLabels, BudgetLabel>;

/** Runs that a budget or a pause is about; all of the team without a field. */
export interface GuardScope {
  /** Slug of an agent. */
  readonly agent?: string | undefined;
  /** Id of a customer. */
  readonly customer_id?: string | undefined;
  /** A feature. */
  readonly feature?: string | undefined;
  /** Each value of a label for itself; only budgets have it. */
  readonly each?: BudgetLabel | undefined;
}

/** Settings of a budget. */
export interface BudgetSettings {
  /** Runs that count. */
  readonly scope: GuardScope;
  /** Period of the spend. */
  readonly period: typeof BUDGET_PERIODS[number];
  /** US dollars as decimal text. */
  readonly limit_usd: string;
  /** Effect when it is used up. */
  readonly mode: typeof BUDGET_MODES[number];
  /** Shares of the limit at which it warns, ascending. */
  readonly warn_at: readonly number[];
  /** False to judge nothing. */
  readonly enabled: boolean;
}

/** A budget. */
export type Budget = ConfigObject<BudgetSettings>;

/** Settings of a pause. */
export interface PauseSettings extends Omit<GuardScope, "each"> {
  /** Words of the user. */
  readonly reason: string;
  /** End, exclusive, unix milliseconds; null to last until it is deleted. */
  readonly until: number | null;
}

/** A pause. */
export type Pause = ConfigObject<PauseSettings>;

/** Budgets and pauses of a team. */
export interface GuardConfig {
  /** Budgets that are enabled. */
  readonly budgets: readonly Budget[];
  /** Pauses, also those that have ended. */
  readonly pauses: readonly Pause[];
}

/** Maximum characters of the reason of a pause. */
export const REASON_CHARS_MAX = 500;

/** Shares at which a budget warns when it names none. */
const WARN_AT_DEFAULT = [0.8] as const;

/** Maximum of such shares. */
const WARN_AT_MAX = 3;

const WARN_AT = `a list of 1 to ${WARN_AT_MAX} numbers above 0 and below 1`;
const SHARE = "a number above 0 and below 1, such as 0.8";
const LIMIT_MIN = 1e-12;
const LIMIT = `a number of dollars above 0 and up to ${COST_USD_MAX} (a pause lets nothing run)`;
const SCOPE =
  'an object with at most one of "agent", "customer_id", "feature" and "each": {} is the team';
const OF_RUN = 'empty or have "agent" alone for the period "run"';

/** Returns the label and the name that a scope has; a null name stands for each. */
export function placeOf(
  scope: GuardScope,
): { readonly label: BudgetLabel | null; readonly name: string | null } {
  const { agent, customer_id, feature, each } = scope;
  if (each !== undefined) return { label: each, name: null };
  if (agent !== undefined) return { label: "agent", name: agent };
  if (customer_id !== undefined) return { label: "customer", name: customer_id };
  return feature === undefined ? { label: null, name: null } : { label: "feature", name: feature };
}

/** Returns whether a scope has a subject. */
export function includes(scope: GuardScope, subject: GuardSubject): boolean {
  const { label, name } = placeOf(scope);
  if (label === null) return true;
  return name === null ? subject[label] !== null : subject[label] === name;
}

const REASON = "words that tell people why";

const names = {
  agent: optional(agentSlug()).describe("Slug of an agent."),
  customer_id: optional(customer()).describe("Id of a customer."),
  feature: optional(text(LABEL_CHARS_MAX)).describe("A feature."),
};

const budgetScope = z.strictObject({
  ...names,
  each: optional(oneOf("BudgetLabel", BUDGET_LABELS)).describe(
    "Each agent, customer or feature for itself; runs without it are in no group.",
  ),
}, SCOPE).refine(isOne, SCOPE).meta({
  id: "BudgetScopeRequest",
  description: "Runs that count: `{}` for all of the team.",
});

const limitUsd = z.number(LIMIT).min(LIMIT_MIN, LIMIT).max(COST_USD_MAX, LIMIT)
  .transform((sent) => dollarsText(picodollars(sent)));

const warnAt = z.array(z.number(SHARE).gt(0, SHARE).lt(1, SHARE), WARN_AT)
  .min(1, WARN_AT).max(WARN_AT_MAX, WARN_AT)
  .transform((sent): readonly number[] => [...new Set(sent)].sort((a, b) => a - b));

const budgetFields = {
  scope: budgetScope,
  period: oneOf("BudgetPeriod", BUDGET_PERIODS).describe(
    "UTC; weeks begin on Monday. `run` judges each run for itself: the scope is `{}` or an agent.",
  ),
  limit_usd: limitUsd.describe(
    "US dollars. The budget is used up when the spend is at least this.",
  ),
  mode: withDefault(oneOf("BudgetMode", BUDGET_MODES), "observe").describe(
    "`observe`, when absent, shows what it would have done; `soft` warns; `hard` blocks.",
  ),
  warn_at: withDefault(warnAt, WARN_AT_DEFAULT).describe(
    `Shares of the limit at which it warns, 1 to ${WARN_AT_MAX}; 0.8 when absent.`,
  ),
  enabled: flag(true).describe("`false` judges nothing."),
};

/** Budgets. */
export const BUDGETS: ObjectKind<BudgetSettings> = kindAsSent({
  kind: "budget",
  prefix: "grl",
  cap: BUDGETS_MAX,
  fields: budgetFields,
  verify({ scope, period }) {
    const { label, name } = placeOf(scope);
    const isOfRuns = label === null || label === "agent" && name !== null;
    if (period === "run" && !isOfRuns) refuseField("scope", OF_RUN);
  },
  fieldsOf: ({ scope, limit_usd, ...settings }) => ({
    scope: scope as ObjectFields,
    ...settings,
    limit_usd: Number(limit_usd),
  }),
  // Rules count the marks, also of a limit that was raised.
  follow: ({ atMs }) => ({ file: [{ kind: "rule", at: atMs, name: kindName("budget") }] }),
});

const pauseFields = {
  ...names,
  reason: text(REASON_CHARS_MAX).refine((sent) => sent !== "", REASON).meta({ minLength: 1 })
    .describe("Words for people; verdicts show them."),
  until: withDefault(instant(), null).describe(
    "End, in the future; when absent, the pause lasts until it is deleted.",
  ),
};

/** Pauses. */
export const PAUSES: ObjectKind<PauseSettings> = kindAsSent({
  kind: "pause",
  prefix: "gps",
  cap: 100,
  fields: pauseFields,
  verify({ reason: _, until, ...scope }, nowMs) {
    const more = Object.keys(scope)[1];
    if (more !== undefined) refuseField(more, ONE_NAME);
    if (until !== null && until <= nowMs) refuseField("until", "in the future");
  },
  fieldsOf: ({ reason, until, ...scope }) => ({
    ...scope as ObjectFields,
    reason,
    until: formatInstantOrNull(until),
  }),
});

function refuseField(field: string, needed: string): never {
  return refuse("invalid_field", `Field "${field}" must be ${needed}`, field);
}

const ONE_NAME = 'left out, or alone among "agent", "customer_id" and "feature"';

/**
 * Body of `POST /v1/guard/check`: labels of the run that is to start. Unknown fields are ignored.
 *
 * @internal
 */
export const guardCheckBody = z.object({
  customer_ref: optional(customer()).describe("The run's `customer_id`."),
  agent: optional(agentSlug()).describe("The run's agent."),
  function: optional(text(LABEL_CHARS_MAX)).describe("The run's `feature`."),
  environment: optional(text(LABEL_CHARS_MAX)).describe("Not judged."),
});

/** Returns whether a pause still holds. */
export function isPaused({ settings: { until } }: Pause, nowMs: number): boolean {
  return until === null || nowMs < until;
}

/** Says what a pause is about and why, for people. */
export function pauseText({ settings: { reason, until } }: Pause): string {
  return until === null ? `Paused: ${reason}` : `Paused until ${formatInstant(until)}: ${reason}`;
}

function isOne(scope: GuardScope): boolean {
  return Object.values(scope).filter((name) => name !== undefined).length <= 1;
}
