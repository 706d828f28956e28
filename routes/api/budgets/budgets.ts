/** Endpoints of budgets and pauses. */
import { BUDGETS, type BudgetSettings, PAUSES } from "../../../domain/budgets/budget.ts";
import type { BudgetVerdict } from "../../../domain/budgets/verdict.ts";
import { z } from "zod";
import * as shape from "../../openapi/wire.ts";
import { objectEndpoints, settingsFields, type ShownObject } from "../objects.ts";
import { groupValue, spendValue } from "./wire.ts";

/** Members of the response besides the settings of a budget. */
interface BudgetSpend {
  /** Null for a budget of each, and of runs. */
  readonly spend: BudgetVerdict | null;
  /** The worst groups of a budget of each; null for others, and if there are too many to read. */
  readonly groups: readonly BudgetVerdict[] | null;
}

type BudgetRow = ShownObject<BudgetSettings, BudgetSpend>;

/** Groups that a response shows of each budget. */
const GROUPS_MAX = 100;

const BUDGET_ENDPOINTS = objectEndpoints({
  of: BUDGETS,
  tag: "Guard",
  fields: {
    ...settingsFields(BUDGETS),
    limit_usd: shape.wire<number>(z.number().meta({ minimum: 0 }))<BudgetRow>(
      ({ settings }) => Number(settings.limit_usd),
      "US dollars.",
    ),
    spend: spendValue.orNull<BudgetRow>(
      "spend",
      "Of the current period; null for a budget of each, and of runs.",
    ),
    groups: shape.list(groupValue).orNull<BudgetRow>(
      "groups",
      `The ${GROUPS_MAX} worst agents, customers or features of a budget of each. Null for others, ` +
        "and if there are too many to read.",
    ),
  },
  read: async ({ guard, budgetGroups }, team, budgets) => {
    const verdicts = await guard.judge(team.id, budgets);
    const groups = await budgetGroups(team, budgets, GROUPS_MAX);
    return budgets.map(({ slug }) => ({
      spend: verdicts.get(slug) ?? null,
      groups: groups?.get(slug) ?? null,
    }));
  },
  texts: {
    put: "Limits what the runs of a period may cost. A budget never refuses a call that reports " +
      "a run: it answers `POST /v1/guard/check`, and each acknowledgement has its verdict.",
    list: "Lists budgets by slug, with their spend.",
  },
});

const PAUSE_ENDPOINTS = objectEndpoints({
  of: PAUSES,
  tag: "Guard",
  texts: {
    put:
      "Blocks an agent, a customer, a feature or the team until its end, or until it is deleted.",
    list: "Lists pauses by slug, also those that have ended.",
    remove: "Lifts a pause.",
  },
});

/** Endpoints of `/v1/budgets` and `/v1/pauses`. */
export const GUARD_OBJECTS = [...BUDGET_ENDPOINTS, ...PAUSE_ENDPOINTS];
