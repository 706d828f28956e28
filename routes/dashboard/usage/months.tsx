/** A comparison of recent months. */
import type { QuotaState } from "../../../domain/teams/quota.ts";
import type { UsageView } from "../../api/teams/usage.ts";
import { queryText, USAGE_PATH } from "../layout/paths.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import { percent } from "../components/column_chart.tsx";
import { formatCount, percentText } from "../components/format.ts";

/** Labels of the quota states, each with a distinct symbol. */
export const QUOTA_STATE_LABELS: Readonly<
  Record<QuotaState, { readonly sign: string; readonly word: string; readonly meaning: string }>
> = {
  normal: {
    sign: "✓",
    word: "Within the plan",
    meaning: "below 80% of its events.",
  },
  heads_up: {
    sign: "▲",
    word: "Heads-up",
    meaning: "80% of the events or more are used. Every call is taken as before.",
  },
  over: {
    sign: "✕",
    word: "Over the plan",
    meaning: "Nothing is cut off and nothing is charged; if it stays so, ask for a larger plan.",
  },
};

type Month = UsageView["months"][number];

/** Shows the months with usage, newest first. */
export function MonthsTable({ of }: { readonly of: UsageView }) {
  return (
    <section>
      <h2>Months</h2>
      {of.months.length === 0 ? <p>Nothing was counted yet.</p> : (
        <Table
          label="Events by month"
          caption={<caption class="soft">The last 12 months with any events</caption>}
          columns={columnsFor(of)}
          rows={of.months}
        />
      )}
    </section>
  );
}

function columnsFor({ months, included, month: current }: UsageView): readonly Column<Month>[] {
  const most = Math.max(...months.map(({ used }) => used), 1);
  return [
    {
      head: "Month (UTC)",
      isName: true,
      cell: ({ month }) => <MonthLink month={month} isCurrent={month === current} />,
    },
    numberColumn("Events", ({ used }) => formatCount(used)),
    ...(included === Infinity ? [] : limitColumns(included)),
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

function limitColumns(included: number): readonly Column<Month>[] {
  return [
    numberColumn("Of today's plan", ({ used }) => percentText(used, included)),
    { head: "State", cell: ({ state }) => <QuotaLabel state={state} /> },
  ];
}

function MonthLink({ month, isCurrent }: { readonly month: string; readonly isCurrent: boolean }) {
  return (
    <a
      href={`${USAGE_PATH}${queryText([["month", month]])}`}
      {...(isCurrent ? { "aria-current": "true" } : {})}
    >
      {month}
    </a>
  );
}

function QuotaLabel({ state }: { readonly state: QuotaState }) {
  const { sign, word } = QUOTA_STATE_LABELS[state];
  return (
    <span class={`quota ${state}`}>
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  );
}
