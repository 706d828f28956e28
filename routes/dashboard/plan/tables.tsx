/** The table of the recent months of usage. */
import type { Child } from "hono/jsx";
import type { QuotaState } from "../../../domain/teams/quota.ts";
import type { UsageView } from "../../api/teams/usage.ts";
import { PLAN_PATH, queryText } from "../layout/paths.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import { percent } from "../components/column_chart.tsx";
import { Section } from "../components/elements.tsx";
import { formatCount, percentText } from "../components/format.ts";

const QUOTA_STATE_LABELS: Readonly<Record<QuotaState, readonly [sign: string, label: string]>> = {
  normal: ["✓", "Within the plan"],
  heads_up: ["▲", "Heads-up"],
  over: ["✕", "Over the plan"],
};

/** Shows a quota state with its distinct symbol. */
export function quotaText(state: QuotaState): Child {
  const [sign, label] = QUOTA_STATE_LABELS[state];
  return [<span aria-hidden="true">{sign}</span>, ` ${label}`];
}

type Month = UsageView["months"][number];

/** Shows the months with usage, newest first. */
export function MonthsTable({ of }: { readonly of: UsageView }) {
  return (
    <Section title="Months">
      {of.months.length === 0 ? <p>Nothing was counted yet.</p> : (
        <Table
          label="Events by month"
          class="fold"
          caption={<caption class="soft">The last 12 months with any events</caption>}
          columns={columnsFor(of)}
          rows={of.months}
        />
      )}
    </Section>
  );
}

function columnsFor({ months, included, month: current }: UsageView): readonly Column<Month>[] {
  const most = Math.max(...months.map(({ used }) => used), 1);
  const ofLimit: readonly Column<Month>[] = [
    numberColumn("Of today's plan", ({ used }) => percentText(used, included)),
    {
      head: "State",
      cell: ({ state }) => <span class={`quota ${state}`}>{quotaText(state)}</span>,
    },
  ];
  return [
    {
      head: "Month (UTC)",
      isName: true,
      cell: ({ month }) => (
        <a
          href={PLAN_PATH + queryText([["month", month]])}
          {...(month === current ? { "aria-current": "true" } : {})}
        >
          {month}
        </a>
      ),
    },
    numberColumn("Events", ({ used }) => formatCount(used)),
    ...(included === Infinity ? [] : ofLimit),
    {
      head: "Compared",
      class: "compared",
      headClass: "compared",
      cell: ({ used, state }) => (
        <svg class="columns" width="100%" height="14" aria-hidden="true">
          <rect class={`quota ${state}`} width={percent(100 * used / most)} height="14" />
        </svg>
      ),
    },
  ];
}
