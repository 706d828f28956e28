/** The wire form of verdicts of budgets and pauses. */
import { z } from "zod";
import {
  type Budget,
  BUDGET_LABELS,
  BUDGET_MODES,
  BUDGET_PERIODS,
  type GuardScope,
  type Pause,
} from "../../../domain/budgets/budget.ts";
import { type BudgetVerdict, RULE_STATES } from "../../../domain/budgets/verdict.ts";
import * as shape from "../../openapi/wire.ts";

/** Fields that a budget or a pause is about; the others are left out. */
const NAMES: shape.WireFields<GuardScope> = {
  agent: shape.text.optional("agent"),
  customer_id: shape.text.optional("customer_id"),
  feature: shape.text.optional("feature"),
};

const scopeValue = shape.object<GuardScope>("GuardScope", {
  ...NAMES,
  each: shape.oneOf("BudgetLabel", BUDGET_LABELS).optional("each"),
}, "Runs that it is about: at most one field; without any, all of the team.");

const budgetMode = shape.oneOf("BudgetMode", BUDGET_MODES);

const budgetPeriod = shape.oneOf("BudgetPeriod", BUDGET_PERIODS);

const ruleState = shape.oneOf("GuardRuleState", RULE_STATES);

/** Picodollars that are left of a limit. */
function remainingOf({ spent, limit }: BudgetVerdict) {
  return spent.cost > limit ? 0n : limit - spent.cost;
}

/** Spent part of a budget. */
const SPENT: shape.WireFields<BudgetVerdict> = {
  spent_usd: shape.dollars(({ spent }) => spent.cost, "The spend of `GET /v1/spend`."),
  remaining_usd: shape.dollars(remainingOf),
  state: ruleState("state", "`ok` while a budget only observes."),
  would_have_blocked: shape.boolean(
    "wouldHaveBlocked",
    "True if the budget observes and is used up in this period.",
  ),
  unpriced_calls: shape.count(
    ({ spent }) => spent.unpricedCalls,
    "Calls without a price, which cost 0.",
  ),
  resets_at: shape.instant.orNull("resetsMs", "End of the period."),
};

export const spendValue = shape.object<BudgetVerdict>("BudgetSpend", SPENT);

export const groupValue = shape.object<BudgetVerdict>("BudgetGroup", {
  name: shape.text(({ group }) => group ?? ""),
  ...SPENT,
});

type GuardRule = { readonly pause: Pause } | { readonly verdict: BudgetVerdict };

function ofBudget<Value>(read: (verdict: BudgetVerdict) => Value) {
  return (rule: GuardRule) => "verdict" in rule ? read(rule.verdict) : null;
}

function objectOf(rule: GuardRule): Budget | Pause {
  return "verdict" in rule ? rule.verdict.budget : rule.pause;
}

function scopeOf(rule: GuardRule): GuardScope {
  return "verdict" in rule ? rule.verdict.budget.settings.scope : rule.pause.settings;
}

export const guardRule = shape.object<GuardRule>("GuardRule", {
  id: shape.id("g(rl|ps)")((rule) => objectOf(rule).id ?? ""),
  name: shape.text((rule) => objectOf(rule).slug, "Slug of the budget or pause."),
  kind: shape.oneOf("GuardRuleKind", ["budget", "pause"])((rule) =>
    "verdict" in rule ? "budget" : "pause"
  ),
  mode: budgetMode.orNull(ofBudget(({ budget }) => budget.settings.mode)),
  scope: scopeValue(scopeOf),
  group: shape.text.orNull(
    ofBudget(({ group }) => group),
    "The agent, customer or feature of a budget of each; else null.",
  ),
  period: budgetPeriod.orNull(ofBudget(({ budget }) => budget.settings.period)),
  limit_usd: shape.dollars.orNull(ofBudget(({ limit }) => limit)),
  spent_usd: shape.dollars.orNull(ofBudget(({ spent }) => spent.cost)),
  remaining_usd: shape.dollars.orNull(ofBudget(remainingOf)),
  state: ruleState((rule) => "verdict" in rule ? rule.verdict.state : "block"),
  would_have_blocked: shape.boolean((rule) => "verdict" in rule && rule.verdict.wouldHaveBlocked),
  unpriced_calls: shape.wire<number>(z.number().meta({ type: "integer", minimum: 0 })).orNull(
    ofBudget(({ spent }) => spent.unpricedCalls),
    "Calls of the period without a price, which cost 0.",
  ),
  resets_at: shape.instant.orNull(
    (rule) => "verdict" in rule ? rule.verdict.resetsMs : rule.pause.settings.until,
    "End of the period, or of the pause.",
  ),
  reason: shape.text.orNull((rule) => "verdict" in rule ? null : rule.pause.settings.reason),
});
