/** `/dashboard/plan`: the team, its plan, and the usage of a month. */
import {
  NOTICE_PERCENTS,
  type NoticeState,
  parseUsageQuery,
  type QuotaState,
} from "../../../domain/teams/quota.ts";
import { monthOf } from "../../../domain/core/time.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import { queryOf } from "../../http/query.ts";
import { readUsage, type UsageView } from "../../api/teams/usage.ts";
import type { DashboardPage } from "../layout/page.ts";
import { PLAN_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Section } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import { dayText, formatCount, percentText } from "../components/format.ts";
import { percent, Swatch } from "../components/column_chart.tsx";
import { keyPath } from "../keys/paths.ts";
import { MonthsTable, quotaText } from "./tables.tsx";
import { TeamDetails, TeamPlan } from "./team.tsx";

/** Shows a month; the current one unless the query names another. */
const showPlan: Handler = async (c, { usage, environment, region }) => {
  const nowMs = environment.now();
  const query = parseUsageQuery(queryOf(c), nowMs);
  if (!query.ok) return fail(c, query.problem);
  const principal = c.get("principal");
  const { team, credentialId } = principal;
  const id = <code>{credentialId}</code>;
  const key = mayAdmin(principal) ? <a href={keyPath(credentialId)}>{id}</a> : id;
  const view = await readUsage(usage, team, query.value, nowMs);
  const isNow = view.month === monthOf(nowMs);
  const body = (
    <>
      <MonthUsage of={view} isNow={isNow} nowMs={nowMs} />
      <div class="cols two">
        <TeamPlan team={team} />
        <Section title={`Team ${team.name}`}>
          <TeamDetails team={team} now={nowMs} more={[["Region", region], ["Your key", key]]} />
          <p class="soft">
            The operator of this service changes the name, the plan, the owner and the limits.
          </p>
        </Section>
      </div>
      <MonthsTable of={view} />
      <Notices of={view} nowMs={nowMs} />
    </>
  );
  const aside = isNow ? null : <a class="btn" href={PLAN_PATH}>This month</a>;
  return showPage(c, { title: "Plan", body, aside });
};

const STATE_MEANINGS: Readonly<Record<QuotaState, string>> = {
  normal: "below 80% of its events.",
  heads_up: "80% of the events or more are used. Every call is taken as before.",
  over: "Nothing is cut off and nothing is charged; if it stays so, ask for a larger plan.",
};

interface MonthProps {
  readonly of: UsageView;
  readonly isNow: boolean;
  readonly nowMs: number;
}

function MonthUsage({ of, isNow, nowMs }: MonthProps) {
  const { used, included, state } = of;
  const isLimited = included !== Infinity;
  return (
    <Section title={`Usage in ${of.month}`}>
      <p class="month-use">
        <b>{formatCount(used)}</b> {isLimited
          ? `of ${formatCount(included)} events: ${percentText(used, included)}`
          : "events; the plan has no limit"}
      </p>
      {isLimited && (
        <>
          <MonthBar of={of} isNow={isNow} />
          <p>
            <strong class={`quota ${state}`}>{quotaText(state)}</strong>: {STATE_MEANINGS[state]}
          </p>
        </>
      )}
      {isNow ? <Pace of={of} nowMs={nowMs} /> : <p>This month is over.</p>}
    </Section>
  );
}

/** Scale of the bar, which leaves room after 100% for the label of the mark. */
const SCALE = 1.15;

/** Heights in pixels of the mark labels, of the bar, and in total. */
const TEXT = 16, BAR = 24, ALL = TEXT + BAR + 4;

/**
 * Draws the bar for a plan with a limit; for the current month, with the projection after the used
 * part.
 */
function MonthBar({ of, isNow }: { readonly of: UsageView; readonly isNow: boolean }) {
  const { used, included, projected, state } = of;
  const most = Math.max(included, used, isNow ? projected : 0) * SCALE;
  const shareOf = (events: number) => percent(100 * events / most);
  const heading = isNow ? `, heading for about ${formatCount(projected)}` : "";
  const title = `${formatCount(used)} of ${formatCount(included)} events used ` +
    `(${percentText(used, included)})${heading}; marks at 80% and 100%`;
  return (
    <>
      <svg class="columns" role="img" width="100%" height={ALL}>
        <title>{title}</title>
        <rect class="track" y={TEXT} width="100%" height={BAR} />
        {isNow && <rect class="projected" y={TEXT} width={shareOf(projected)} height={BAR} />}
        <rect class={`quota ${state}`} y={TEXT} width={shareOf(used)} height={BAR} />
        {NOTICE_PERCENTS.map((mark) => {
          const x = shareOf(included * mark / 100);
          return (
            <>
              <line class="mark" x1={x} x2={x} y1={TEXT - 3} y2={ALL} />
              <text x={x} y={TEXT - 5} text-anchor={mark === 100 ? "start" : "end"}>{mark}%</text>
            </>
          );
        })}
      </svg>
      <p class="below-chart">
        <Swatch of={`quota ${state}`} /> used {isNow && (
          <>
            <Swatch of="projected" /> at the present pace{" "}
          </>
        )}
        · the owner is notified at{" "}
        {NOTICE_PERCENTS.map((mark) => `${formatCount(included * mark / 100)} (${mark}%)`).join(
          " and ",
        )}
      </p>
    </>
  );
}

/** Shows the projected usage of the month, and the time of its reset. */
function Pace({ of, nowMs }: { readonly of: UsageView; readonly nowMs: number }) {
  const { projected, included, resetsAt } = of;
  const share = included === Infinity ? "" : ` (${percentText(projected, included)} of the plan)`;
  return (
    <p>
      At its present pace the month ends with about <b>{formatCount(projected)}</b>{" "}
      events{share}. Usage resets <Ago at={resetsAt} now={nowMs} />, on {dayText(resetsAt)}{" "}
      at 00:00 UTC.
    </p>
  );
}

const NOTICE_LABELS: Readonly<Record<NoticeState, string>> = {
  logged: "written to the service's log, because the team has no owner's address",
  pending: "about to be sent",
  sending: "being sent",
  sent: "sent by e-mail",
  unknown: "given to the mail server, which has not confirmed it",
  dead: "not sent: the mail server did not take it",
};

function Notices({ of, nowMs }: { readonly of: UsageView; readonly nowMs: number }) {
  const { notices, included } = of;
  const percents = NOTICE_PERCENTS.map((percent) => `${percent}%`).join(" and ");
  if (notices.length === 0 && included === Infinity) return null;
  return (
    <Section title="Notices">
      {notices.length === 0
        ? <p>None in this month. The owner of the team is notified at {percents} of the plan.</p>
        : (
          <ul>
            {notices.map(({ percent, state, sentAt }) => (
              <li>
                {percent}% reached: {NOTICE_LABELS[state]}
                {sentAt === null ? null : (
                  <>
                    , <Ago at={sentAt} now={nowMs} />
                  </>
                )}
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
