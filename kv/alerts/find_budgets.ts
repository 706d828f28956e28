/**
 * Finds what is true of rules of the kind `budget`: the marks that the spend of budgets has reached.
 *
 * Each mark of a group in a period, under one limit, is an incident of its own. It ends with the
 * period, or when the limit or the budget is changed.
 *
 * @module
 */
import { groupOfMark, nameIn, shareIn } from "../../domain/alerts/signal.ts";
import { PERIODS } from "../../domain/alerts/incident.ts";
import { OTHER_GROUP } from "../../domain/alerts/rule.ts";
import { type Budget, BUDGET_LABELS, placeOf } from "../../domain/budgets/budget.ts";
import {
  daysInUse,
  marksReached,
  ofPeriods,
  onlyGroupOf,
  prepareBudget,
  type PreparedBudget,
  type Spent,
  spentIn,
} from "../../domain/budgets/verdict.ts";
import type { IncidentGroup } from "../../domain/channels/message.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { dollarsText } from "../../domain/pricing/money.ts";
import { groupName as groupText, type RollupGroup } from "../../domain/spend/rollup.ts";
import { keys } from "../base/keys.ts";
import { judgeGroups } from "../budgets/groups.ts";
import type { SpendStore } from "../spend/rollups.ts";
import { getAll } from "../store.ts";
import type { SpendDeps } from "./find_spend.ts";
import { type Finding, goodOf, instancesOf, NOTHING, type RuleOf, signalOf } from "./conditions.ts";
import { decodeInstance } from "./rows.ts";
import { TOTAL } from "./run_work.ts";

/** Maximum marks that one evaluation reports; the next evaluation finds further ones. */
const MARKS_MAX = 50;

/** The spend of a budget's group. */
interface GroupSpend {
  readonly prepared: PreparedBudget;
  /** Agent, customer or feature; null for the team. */
  readonly name: string | null;
  readonly spent: Spent;
}

/** Returns the enabled budgets that a rule names. */
export function selectedBudgets(
  { budgets: names }: { readonly budgets: readonly string[] },
  all: readonly Budget[],
): readonly Budget[] {
  return all.filter(({ slug, settings: { enabled } }) =>
    enabled && (names.length === 0 || names.includes(slug))
  );
}

/**
 * Finds marks that were reached, each once a period, and ends those that are over.
 *
 * @param text the only label to evaluate, as `budgetGroupName` and {@link TOTAL} name it; null for all
 */
export async function findBudgets(
  { store, spend }: SpendDeps,
  team: TeamId,
  rule: RuleOf<"budget">,
  all: readonly Budget[],
  text: string | null,
  nowMs: number,
): Promise<Finding> {
  const { slug, settings: { condition } } = rule;
  const budgets = ofPeriods(selectedBudgets(condition, all))
    .map((budget) => prepareBudget(budget, nowMs));
  const group = text === null ? null : rollupIn(text);
  // The row of a mark that fires asks for nothing here.
  if (text !== null && group === null && text.startsWith("=")) return NOTHING;
  const sums = group === null
    ? await allSums(spend, team, budgets, nowMs)
    : await sumsFor(spend, team, budgets, group, nowMs);
  const reached = sums.flatMap((sum) =>
    marksReached(sum.prepared, sum.spent).map((share) => markOf(sum, share, nowMs))
  );
  const known = text === null
    ? await instancesOf(store, team, rule)
    : (await getAll(store, reached.map(({ text }) => keys.alert(team, slug, text))))
      .flatMap(({ value }) => decodeInstance(value) ?? []);
  const periods = new Map(budgets.map((prepared) => [prepared.budget.slug, prepared]));
  // A mark of another period or limit ends in an earlier commit, so that its incident ends too.
  const over = known.filter(({ text, group, outcomes }) => {
    if (text === OTHER_GROUP) return false;
    const prepared = periods.get(group.budget ?? "");
    const isMark = prepared !== undefined && isOfScope(prepared, group) &&
      [...prepared.budget.settings.warn_at, 1].includes(shareIn(text));
    return !isMark || outcomes.kept.some(({ key }) => key !== keyOf(prepared));
  });
  const texts = new Set(known.map(({ text }) => text));
  const added = reached.filter(({ text }) => !texts.has(text));
  const some = added.slice(0, MARKS_MAX);
  // Marks that share an incident are found by an evaluation of each of them alone.
  const isMore = over.length > 0 || added.length > some.length && !texts.has(OTHER_GROUP);
  const ends = new Set(some.map(({ resetsMs }) => resetsMs));
  return {
    signals: [
      ...goodOf(rule, over.slice(0, MARKS_MAX), () => true, nowMs),
      ...some.map(({ resetsMs: _, ...mark }) => signalOf(rule, mark, "bad")),
    ],
    next: [
      ...isMore ? [{ at: nowMs + 1, name: slug }] : [],
      ...[...ends].map((at) => ({ at, name: slug })),
    ],
  };
}

/** Returns the mark of a group, and when it ends. */
function markOf({ prepared, name, spent }: GroupSpend, share: number, at: number) {
  const { budget: { slug, settings: { scope, period, limit_usd } }, resetsMs } = prepared;
  const { label } = placeOf(scope);
  const group: IncidentGroup = {
    ...label === null || name === null ? {} : { [label]: name },
    budget: slug,
  };
  return {
    ...groupOfMark(share, group),
    key: keyOf(prepared),
    at,
    value: Number(dollarsText(spent.cost)),
    detail: `$${limit_usd} ${period === "run" ? "" : PERIODS[period]}`,
    resetsMs: resetsMs ?? 0,
  };
}

/** Returns whether a budget is about the group of a mark: its scope may have been changed. */
function isOfScope({ budget: { settings: { scope } } }: PreparedBudget, group: IncidentGroup) {
  const { label, name } = placeOf(scope);
  const spender = label === null ? undefined : group[label];
  return label === null ? Object.keys(group).length === 1 : spender === (name ?? spender ?? "");
}

/** Returns the identity of a mark within its group: the period, and the limit. */
function keyOf({ budget: { settings: { limit_usd } }, days }: PreparedBudget): string {
  return `${days.join(" ")} ${limit_usd}`;
}

/** Returns the group of roll-ups in the name of an evaluation; null if the name may be cut. */
function rollupIn(text: string): RollupGroup | null {
  const kind = BUDGET_LABELS.find((label) => text.startsWith(`${label} `));
  if (kind === undefined) return text === TOTAL ? { kind: "total" } : null;
  const value = nameIn(text.slice(kind.length + 1));
  return value === null ? null : { kind, value };
}

/** Returns the spend of the budgets that a group counts for. */
async function sumsFor(
  spend: SpendStore,
  id: TeamId,
  budgets: readonly PreparedBudget[],
  group: RollupGroup,
  nowMs: number,
): Promise<GroupSpend[]> {
  const name = labelIn(group);
  const ofGroup = budgets.filter(({ budget: { settings: { scope } } }) => {
    const place = placeOf(scope);
    return (place.label ?? "total") === group.kind && (place.name ?? name) === name;
  });
  if (ofGroup.length === 0) return [];
  const rows = await spend.some({ id }, [group], daysInUse(nowMs));
  const days = new Map(rows.map(({ day, measures }): [string, Spent] => [day, measures]));
  return ofGroup.map((prepared) => ({ prepared, name, spent: spentIn(prepared.days, days) }));
}

/** Returns the spend of all groups of budgets; without those of each, if they are too many to read. */
async function allSums(
  spend: SpendStore,
  id: TeamId,
  budgets: readonly PreparedBudget[],
  nowMs: number,
): Promise<GroupSpend[]> {
  const groups = new Map(
    budgets.flatMap(({ budget }) => {
      const group = onlyGroupOf(budget);
      return group === null ? [] : [[groupText(group), group] as const];
    }),
  );
  const named = await Promise.all(
    groups.values().map((group) => sumsFor(spend, id, budgets, group, nowMs)),
  );
  const objects = budgets.map(({ budget }) => budget);
  const ofEach = await judgeGroups(spend, { id }, objects, nowMs, Infinity);
  return [
    ...named.flat().filter(({ prepared: { budget } }) => onlyGroupOf(budget) !== null),
    ...budgets.flatMap((prepared) =>
      (ofEach?.get(prepared.budget.slug) ?? [])
        .map(({ group, spent }) => ({ prepared, name: group, spent }))
    ),
  ];
}

function labelIn(group: RollupGroup): string | null {
  return group.kind === "agent" || group.kind === "customer" || group.kind === "feature"
    ? group.value
    : null;
}
