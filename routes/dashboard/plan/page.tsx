/** `/dashboard/plan`: the team, its plan, and the usage of a month. */
import { NOTICE_PERCENTS, parseUsageQuery, type QuotaState } from "../../../domain/teams/quota.ts";
import { monthOf } from "../../../domain/core/time.ts";
import { teamKey } from "../../http/access.ts";
import { queryOf } from "../../http/query.ts";
import { readUsage, type UsageView } from "../../api/teams/teams.ts";
import type { DashboardPage, PageHandler } from "../layout/page.tsx";
import { keyPath, PLAN_PATH } from "../layout/paths.ts";
import { Ago, Section } from "../components/elements.tsx";
import { dayText, formatCount, monthText, percentText } from "../components/format.ts";
import { percent, ShareBar, Swatch } from "../components/column_chart.tsx";
import { type Column, nameColumn, numberColumn, tableSection } from "../components/table.tsx";
import { teamDetails, teamPlan } from "./team.tsx";

/** Shows a month; the current one unless the query names another. */
const showPlan: PageHandler = async ({ c, deps, team, credentialId, isAdmin }) => {
  const { usage, environment, region } = deps;
  const nowMs = environment.now();
  const query = parseUsageQuery(queryOf(c), nowMs);
  const id = <code>{credentialId}</code>;
  const key = isAdmin ? <a href={keyPath(credentialId)}>{id}</a> : id;
  const view = await readUsage(usage, team, query, nowMs);
  const isNow = view.month === monthOf(nowMs);
  const body = [
    monthUsage(view, isNow),
    <div class="cols two">
      {teamPlan(team)}
      <Section title={`Team ${team.name}`}>
        {teamDetails(team, [["Region", region], ["Your key", key]])}
        <p class="soft">
          The operator of this service changes the name, the plan, the owner and the limits.
        </p>
      </Section>
    </div>,
    tableSection("Months", {
      none: <p>Nothing was counted yet.</p>,
      caption: "The last 12 months with any events",
      columns: columnsFor(view),
      rows: view.months,
    }),
    noticesOf(view),
  ];
  const aside = isNow ? null : <a class="btn" href={PLAN_PATH}>This month</a>;
  return { title: "Plan", body, aside };
};

/** Quota states: their symbol, name and meaning. */
const STATES: Readonly<Record<QuotaState, readonly [sign: string, name: string, meaning: string]>> =
  {
    normal: ["✓", "Within the plan", "below 80% of its events."],
    heads_up: [
      "▲",
      "Heads-up",
      "80% of the events or more are used. Every call is taken as before.",
    ],
    over: [
      "✕",
      "Over the plan",
      "Nothing is cut off or charged; if it stays so, ask for a larger plan.",
    ],
  };

function stateText(state: QuotaState) {
  const [sign, name] = STATES[state];
  return (
    <span class={`quota ${state}`}>
      <span aria-hidden="true">{sign}</span> {name}
    </span>
  );
}

/** Shows a month's usage against the plan; of the current one, the pace and the reset too. */
function monthUsage(view: UsageView, isNow: boolean) {
  const { used, included, state, projected, resetsAt } = view;
  const isLimited = included !== Infinity;
  const share = isLimited ? ` (${percentText(projected, included)} of the plan)` : "";
  return (
    <Section title={`Usage in ${monthText(view.month)}`}>
      <p class="month-use">
        <b>{formatCount(used)}</b> {isLimited
          ? `of ${formatCount(included)} events: ${percentText(used, included)}`
          : "events; the plan has no limit"}
      </p>
      {isLimited && [
        monthBar(view, isNow),
        <p>
          <strong>{stateText(state)}</strong>: {STATES[state][2]}
        </p>,
      ]}
      {isNow
        ? (
          <p>
            At its present pace the month ends with about <b>{formatCount(projected)}</b>
            {` events${share}. Usage resets `}
            <Ago at={resetsAt} />
            {`, on ${dayText(resetsAt)} at 00:00 UTC.`}
          </p>
        )
        : <p>This month is over.</p>}
    </Section>
  );
}

/** Scale of the bar, which leaves room after 100% for the label of the mark. */
const SCALE = 1.15;

/** Heights in pixels of the mark labels, of the bar, and in total. */
const TEXT = 16, BAR = 24, ALL = TEXT + BAR + 4;

/** Draws the bar for a plan with a limit; the projection is after the used part. */
function monthBar({ used, included, projected, state }: UsageView, isNow: boolean) {
  const most = Math.max(included, used, isNow ? projected : 0) * SCALE;
  const bar = (name: string, events: number) => (
    <rect class={name} y={TEXT} width={percent(100 * events / most)} height={BAR} />
  );
  const heading = isNow ? `, heading for about ${formatCount(projected)}` : "";
  const title = `${formatCount(used)} of ${formatCount(included)} events used ` +
    `(${percentText(used, included)})${heading}; marks at 80% and 100%`;
  const marks = NOTICE_PERCENTS.map((mark) => ({ mark, events: included * mark / 100 }));
  return [
    <svg class="columns" role="img" width="100%" height={ALL}>
      <title>{title}</title>
      {bar("track", most)}
      {isNow && bar("projected", projected)}
      {bar(`quota ${state}`, used)}
      {marks.map(({ mark, events }) => {
        const x = percent(100 * events / most);
        return [
          <line class="mark" x1={x} x2={x} y1={TEXT - 3} y2={ALL} />,
          <text x={x} y={TEXT - 5} text-anchor={mark === 100 ? "start" : "end"}>{mark}%</text>,
        ];
      })}
    </svg>,
    <p class="below-chart">
      <Swatch of={`quota ${state}`} /> used{" "}
      {isNow && [<Swatch of="projected" />, " at the present pace "]}
      · the owner is notified at{" "}
      {marks.map(({ mark, events }) => `${formatCount(events)} (${mark}%)`).join(" and ")}
    </p>,
  ];
}

type Month = UsageView["months"][number];

/** Builds the columns of months; without a limit of the plan, months are compared with each other. */
function columnsFor({ months, included, month: current }: UsageView): readonly Column<Month>[] {
  const isLimited = included !== Infinity;
  const all = isLimited ? included : Math.max(...months.map(({ used }) => used), 1);
  return [
    nameColumn("Month (UTC)", ({ month }) => {
      const isCurrent = month === current ? "true" : undefined;
      return (
        <a href={`${PLAN_PATH}?month=${month}`} aria-current={isCurrent}>{monthText(month)}</a>
      );
    }),
    numberColumn("Events", ({ used }) => formatCount(used)),
    {
      head: isLimited ? "Of today's plan" : "Of the largest month",
      cell: ({ used }) => <ShareBar part={used} all={all} />,
    },
    ...isLimited ? [{ head: "State", cell: ({ state }: Month) => stateText(state) }] : [],
  ];
}

const NOTICE_LABELS: Readonly<Record<UsageView["notices"][number]["state"], string>> = {
  logged: "written to the service's log, because the team has no owner's address",
  pending: "about to be sent",
  sending: "being sent",
  sent: "sent by e-mail",
  unknown: "given to the mail server, which has not confirmed it",
  dead: "not sent: the mail server did not take it",
};

function noticesOf({ notices, included }: UsageView) {
  if (notices.length === 0 && included === Infinity) return null;
  const percents = NOTICE_PERCENTS.map((percent) => `${percent}%`).join(" and ");
  return (
    <Section title="Notices">
      {notices.length === 0
        ? <p>None in this month. The owner of the team is notified at {percents} of the plan.</p>
        : (
          <ul>
            {notices.map(({ percent, state, sentAt }) => (
              <li>
                {percent}% reached: {NOTICE_LABELS[state]}
                {sentAt !== null && [", ", <Ago at={sentAt} />]}
              </li>
            ))}
          </ul>
        )}
    </Section>
  );
}

export const planPage: DashboardPage = {
  path: PLAN_PATH,
  menu: { name: "Plan", area: "settings" },
  access: teamKey("read"),
  handler: showPlan,
};
