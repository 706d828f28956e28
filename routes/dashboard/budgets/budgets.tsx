/** Budgets: what was spent of each limit, and their form. */
import type { Child } from "hono/jsx";
import {
  type Budget,
  BUDGET_MODES,
  BUDGET_PERIODS,
  BUDGETS,
  type BudgetSettings,
  placeOf,
} from "../../../domain/budgets/budget.ts";
import type { BudgetVerdict } from "../../../domain/budgets/verdict.ts";
import type { Reader } from "../layout/page.tsx";
import { LoadBar } from "../components/column_chart.tsx";
import { Ago, type KeyValue, Money, Sign } from "../components/elements.tsx";
import { capitalized, countedText, percentText } from "../components/format.ts";
import { type Column, column, nameColumn, tableSection } from "../components/table.tsx";
import { bodyIn } from "../objects/form.tsx";
import { readKnownValues } from "../objects/known_values.tsx";
import { showList, slugColumn } from "../objects/list.tsx";
import { objectPages, objectsPage, showObject } from "../objects/pages.tsx";
import { checkScope, groupLink, scopeFields, scopeText, withSpendTabs } from "./scope.tsx";

/** Groups that the page of a budget of each shows. */
const GROUPS_SHOWN = 50;

/** Reads the verdicts of budgets as they are now, the worst group first. */
async function readRows({ deps, team }: Reader, budgets: readonly Budget[]) {
  const [verdicts, groups] = await Promise.all([
    deps.guard.judge(team.id, budgets),
    deps.budgetGroups(team, budgets, GROUPS_SHOWN),
  ]);
  return budgets.map((budget) => {
    const ofEach = groups?.get(budget.slug) ?? [];
    return { budget, worst: verdicts.get(budget.slug) ?? ofEach[0] ?? null, groups: ofEach };
  });
}

type BudgetRow = Awaited<ReturnType<typeof readRows>>[number];

const PERIOD_TEXTS: Readonly<Record<typeof BUDGET_PERIODS[number], string>> = {
  run: "in one run",
  day: "a day",
  week: "a week",
  month: "a month",
};

const MODE_TEXTS: Readonly<Record<typeof BUDGET_MODES[number], string>> = {
  observe: "Observe: show what it would have blocked",
  soft: "Soft: warn",
  hard: "Hard: block",
};

function limitText({ limit_usd, period }: BudgetSettings): string {
  return `$${limit_usd} ${PERIOD_TEXTS[period]}`;
}

const resets = ({ resetsMs }: BudgetVerdict) => resetsMs !== null && <Ago at={resetsMs} />;

/** Shows the spend against the limit, with a mark where it begins to warn. */
function spentCell(of: BudgetVerdict | null, { settings }: Budget): Child {
  if (of === null) return settings.period === "run" ? "judged in each run" : "–";
  const { spent, limit, group, state } = of;
  const share = 100 * Number(spent.cost) / Number(limit);
  const warns = 100 * (settings.warn_at[0] ?? 1);
  const level = state === "block" ? "over" : share >= warns ? "far" : "now";
  return (
    <>
      {group !== null && `${group}: `}
      <Money of={spent.cost} /> of <Money of={limit} />, {percentText(spent.cost, limit)}
      <LoadBar share={Math.min(100, share)} mark={warns} level={level} />
      {spent.unpricedCalls > 0 && (
        <small class="under more">
          {countedText(spent.unpricedCalls, "call")} without a price counted as $0
        </small>
      )}
    </>
  );
}

/** Says what a budget does now, and why. */
function stateCell(of: BudgetVerdict | null, { settings: { enabled, mode } }: Budget): Child {
  if (!enabled) return <Sign icon="off" isWord>Disabled</Sign>;
  if (of === null) return mode;
  if (of.wouldHaveBlocked) {
    return [
      <Sign icon="warn" isWord>Would block</Sign>,
      <small class="under">It only observes: its limit is used up.</small>,
    ];
  }
  if (of.state === "ok") return <Sign icon="ok" isWord>Within its limit</Sign>;
  if (of.state === "warn") return <Sign icon="warn" isWord>Warns</Sign>;
  return [
    <Sign icon="bad" isWord>Blocks</Sign>,
    <small class="under">Its limit is used up, until it resets or you raise it.</small>,
  ];
}

const BUDGET_PAGES = objectPages(BUDGETS, {
  frame: () => (view) => withSpendTabs("Budgets", view),
  bodyOf: (form) => {
    checkScope(form);
    return bodyIn(BUDGETS.schema, form);
  },
  open: async (visit) => {
    const known = await readKnownValues(visit);
    return {
      empty: { period: "month" },
      renamed: { scope: "agent" },
      fields: (field) => [
        scopeFields(field, known, true),
        <div class="fields">
          {field("limit_usd", "Limit", "US dollars.", { placeholder: "200" })}
          {field("period", "Period", "In UTC; weeks begin on Monday.", {
            options: BUDGET_PERIODS.map((name) => [name, PERIOD_TEXTS[name]]),
          })}
          {field("mode", "When it is used up", undefined, {
            options: BUDGET_MODES.map((name) => [name, MODE_TEXTS[name]]),
          })}
          {field("warn_at", "Warn at", "Shares of the limit, by commas: 0.8, 0.95.")}
        </div>,
        field("enabled", "Enabled"),
      ],
    };
  },
});

const COLUMNS: readonly Column<BudgetRow>[] = [
  slugColumn(
    BUDGET_PAGES,
    ({ budget }) => budget.slug,
    ({ budget }) => <small class="under">{limitText(budget.settings)}</small>,
  ),
  { head: "Runs of", cell: ({ budget }) => scopeText(budget.settings.scope) },
  column("Spent", { class: "whole" }, ({ worst, budget }) => spentCell(worst, budget)),
  { head: "State", class: "whole", cell: ({ worst, budget }) => stateCell(worst, budget) },
  column("Resets", { before: "resets" }, ({ worst }) => worst?.resetsMs ? resets(worst) : "–"),
];

const showBudgets = showList(BUDGET_PAGES, async (budgets, visit) => ({
  subtitle: "Limits that agents ask about before they start",
  rows: await readRows(visit, budgets),
  columns: COLUMNS,
  empty: [
    "No budget yet",
    "A budget limits what a run, an agent, a customer or a feature may cost. It begins by " +
    "observing: it shows what it would have blocked. Calls that report runs are never refused.",
  ],
}));

const showBudget = showObject(
  BUDGET_PAGES,
  "Agents that ask are no longer held by it. What was spent stays in the spend.",
  async (budget, visit) => {
    const { scope, mode } = budget.settings;
    const [row] = await readRows(visit, [budget]);
    const { worst = null, groups = [] } = row ?? {};
    const now: readonly KeyValue[] = [
      ["Runs of", scopeText(scope)],
      ["Spent", spentCell(worst, budget)],
      ["State", stateCell(worst, budget)],
      ["Resets", worst && resets(worst)],
      ["When it is used up", MODE_TEXTS[mode]],
    ];
    const { label } = placeOf(scope);
    const columns: readonly Column<BudgetVerdict>[] = [
      nameColumn(capitalized(label ?? ""), ({ group }) => label && groupLink(label, group ?? "")),
      column("Spent", { class: "whole" }, (of) => spentCell({ ...of, group: null }, budget)),
      { head: "State", class: "whole", cell: (of) => stateCell(of, budget) },
    ];
    return {
      subtitle: limitText(budget.settings),
      facts: now,
      below: groups.length > 0 &&
        tableSection(`Each ${label}, the worst first`, { columns, rows: groups }),
    };
  },
);

/** Budgets, a part of the area of spend. */
export const budgetsPage = objectsPage(BUDGET_PAGES, showBudgets, showBudget);
