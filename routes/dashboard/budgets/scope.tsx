/** Tabs of spend, budgets and pauses, and the runs that a budget or a pause is about. */
import type { Child } from "hono/jsx";
import { BUDGET_LABELS, type GuardScope, placeOf } from "../../../domain/budgets/budget.ts";
import { refuse } from "../../../domain/core/errors.ts";
import { Tabs } from "../components/elements.tsx";
import type { View } from "../layout/page.tsx";
import {
  agentPath,
  BUDGETS_PATH,
  PAUSES_PATH,
  queryText,
  RUNS_PATH,
  SPEND_PATH,
} from "../layout/paths.ts";
import type { FieldBuilder, FormValues } from "../objects/form.tsx";
import { KnownLists, type KnownValues } from "../objects/known_values.tsx";

const PARTS = { Spend: SPEND_PATH, Budgets: BUDGETS_PATH, Pauses: PAUSES_PATH } as const;

/** Puts the tabs of the area above a page. */
export function withSpendTabs(part: keyof typeof PARTS, view: View): View {
  const tabs = Object.entries(PARTS).map(([name, to]) => ({ name, to, isCurrent: name === part }));
  return { ...view, body: [<Tabs label="Spend" tabs={tabs} />, view.body] };
}

/** Names the runs that a budget or a pause is about, with a link. */
export function scopeText(scope: GuardScope): Child {
  const { label, name } = placeOf(scope);
  if (label === null) return "the team";
  return name === null ? `each ${label}` : [`${label} `, groupLink(label, name)];
}

/** Links to an agent, or to the runs of a customer or a feature. */
export function groupLink(label: typeof BUDGET_LABELS[number], name: string): Child {
  const filter = label === "customer" ? "customer_id" : label;
  const to = label === "agent" ? agentPath(name) : RUNS_PATH + queryText([[filter, name]]);
  return <a href={to}>{name}</a>;
}

/** Refuses a form that names more than one kind of runs, at the second one. */
export function checkScope(form: FormValues): void {
  const [, field] = ["agent", "customer_id", "feature", "each"].filter((name) => form.get(name));
  const message = "Only one of the agent, the customer, the feature and each may be set";
  if (field !== undefined) refuse("invalid_field", message, field);
}

/** The fields of a scope; only budgets have `each`. */
export function scopeFields(field: FieldBuilder, known: KnownValues, hasEach: boolean): Child {
  const { agents, customers, features } = known;
  return (
    <fieldset>
      <legend>Runs of</legend>
      <div class="fields">
        {field("agent", "One agent", undefined, { list: "known-agents" })}
        {field("customer_id", "One customer", undefined, { list: "known-customers" })}
        {field("feature", "One feature", undefined, { list: "known-features" })}
        {hasEach &&
          field("each", "Or each for itself", undefined, {
            options: [["", "no"], ...BUDGET_LABELS],
          })}
      </div>
      <small>At most one of them. None: all runs of the team.</small>
      <KnownLists known={{ agents, customers, features }} />
    </fieldset>
  );
}
