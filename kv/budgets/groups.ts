/**
 * Spend of all groups of budgets that are about each agent, customer or feature.
 *
 * @module
 */
import { type Budget, type BudgetLabel, placeOf } from "../../domain/budgets/budget.ts";
import {
  type BudgetVerdict,
  byBadness,
  daysInUse,
  judgeBudget,
  ofPeriods,
  prepareBudget,
  type Spent,
  spentIn,
} from "../../domain/budgets/verdict.ts";
import { nullIfRefused } from "../../domain/core/errors.ts";
import { SPEND_ROWS_MAX } from "../../domain/spend/spend.ts";
import { labelOf } from "../../domain/spend/spend_query.ts";
import type { Team } from "../../domain/teams/team.ts";
import type { SpendStore } from "../spend/rollups.ts";

/** Groups of budgets by slug, the worst first. */
export type BudgetGroups = ReadonlyMap<string, readonly BudgetVerdict[]>;

/**
 * Creates the function that judges the worst groups of budgets, as a query of spend; null if it
 * takes too long, or if there are too many roll-ups to read.
 */
export function createBudgetGroups(spend: SpendStore, now: () => number) {
  return async (
    team: Team,
    budgets: readonly Budget[],
    max: number,
  ): Promise<BudgetGroups | null> => {
    const judge = () => judgeGroups(spend, team, budgets, now(), max);
    return await spend.ask(team, judge).catch(nullIfRefused);
  };
}

/** Judges the worst groups of budgets; null if there are too many roll-ups to read. */
export async function judgeGroups(
  spend: SpendStore,
  team: Pick<Team, "id">,
  budgets: readonly Budget[],
  nowMs: number,
  max: number,
): Promise<BudgetGroups | null> {
  const groups = new Map<string, readonly BudgetVerdict[]>();
  const ofEach = ofPeriods(budgets).filter(({ settings: { scope } }) => scope.each !== undefined);
  const byLabel = Map.groupBy(ofEach, ({ settings: { scope } }) => placeOf(scope).label);
  let rowsLeft = SPEND_ROWS_MAX;
  for (const [label, budgets] of byLabel) {
    if (label === null) continue;
    const days = new Map<string, Map<string, Spent>>();
    for await (const rows of rowsOf(spend, team, label, nowMs)) {
      rowsLeft -= rows.length;
      if (rowsLeft < 0) return null;
      for (const { group, day, measures: { cost, unpricedCalls } } of rows) {
        const name = labelOf(group, label);
        if (name === null) continue;
        const known = days.get(name) ?? new Map<string, Spent>();
        days.set(name, known.set(day, { cost, unpricedCalls }));
      }
    }
    for (const budget of budgets) {
      const prepared = prepareBudget(budget, nowMs);
      const judged = Array.from(
        days,
        ([name, spent]) => judgeBudget(prepared, name, spentIn(prepared.days, spent), nowMs),
      )
        .filter(({ spent }) => spent.cost > 0n || spent.unpricedCalls > 0);
      groups.set(budget.slug, judged.sort(byBadness).slice(0, max));
    }
  }
  return groups;
}

function rowsOf(spend: SpendStore, team: Pick<Team, "id">, label: BudgetLabel, nowMs: number) {
  const days = daysInUse(nowMs);
  return spend.rows(team, label, days[0] ?? "", days.at(-1) ?? "");
}
