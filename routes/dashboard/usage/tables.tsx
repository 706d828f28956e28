/** Tables of usage: the recent months, and the limits of the plan. */
import type { Team } from "../../../domain/teams/team.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import type { Child } from "hono/jsx";
import type { QuotaState } from "../../../domain/teams/quota.ts";
import type { UsageView } from "../../api/teams/usage.ts";
import { queryText, USAGE_PATH } from "../layout/paths.ts";
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
          href={USAGE_PATH + queryText([["month", month]])}
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

export function PlanLimits({ team }: { readonly team: Team }) {
  const plan = planOfTeam(team);
  const sustained = team.rate?.sustained ?? plan.requestsPerSecond;
  const burst = team.rate?.burst ?? plan.burst;
  const limits: readonly (readonly [string, string])[] = [
    ["Plan", team.tier],
    ["Events a month", textOf(plan.eventsPerMonth)],
    [
      "Requests",
      sustained === Infinity
        ? "no limit"
        : `${formatCount(sustained)} a second, ${formatCount(burst)} at once`,
    ],
    ["Agents", textOf(plan.agentsMax)],
    ["Metadata keys of a run", plan.metadataKeysMax === 0 ? "none" : textOf(plan.metadataKeysMax)],
    ["Events, outputs and metadata are kept", daysText(plan.payloadDays)],
    ["Records of runs are kept", daysText(plan.recordDays)],
  ];
  return (
    <Section title="The plan">
      <table class="plan">
        <tbody>
          {limits.map(([name, value]) => (
            <tr>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="soft">
        Totals of spend and usage are kept forever. Only the operator of this service can change a
        plan.
      </p>
    </Section>
  );
}

function textOf(limit: number): string {
  return limit === Infinity ? "no limit" : formatCount(limit);
}

function daysText(days: number): string {
  return days === Infinity ? "until they are deleted" : `${formatCount(days)} days`;
}
