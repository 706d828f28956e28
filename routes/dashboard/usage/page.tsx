/** `/dashboard/usage`: the usage of a month, as a share of the plan and as a projection. */
import type { Notice as QuotaNotice, NoticeState } from "../../../domain/teams/quota_notice.ts";
import { NOTICE_PERCENTS, parseUsageQuery } from "../../../domain/teams/quota.ts";
import { formatInstant, monthOf } from "../../../domain/core/time.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { readUsage, type UsageView } from "../../api/teams/usage.ts";
import type { DashboardPage } from "../layout/page.ts";
import { USAGE_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Ago } from "../components/elements.tsx";
import { formatCount, percentText } from "../components/format.ts";
import { MonthBar } from "./month_bar.tsx";
import { MonthsTable, QUOTA_STATE_LABELS } from "./months.tsx";
import { PlanLimits } from "./plan.tsx";

export const usagePage: DashboardPage = {
  path: USAGE_PATH,
  menu: "Usage",
  access: teamKey("read"),
  handler: showUsage,
};

/** Shows a month; the current one unless the query names another. */
function showUsage({ usage, environment }: AppDeps): Handle {
  return async (c) => {
    const nowMs = environment.now();
    const query = parseUsageQuery(queryOf(c), nowMs);
    if (!query.ok) return fail(c, query.problem);
    const { team } = c.get("principal");
    const view = await readUsage(usage, team, query.value, nowMs);
    const isNow = view.month === monthOf(nowMs);
    const body = (
      <>
        <MonthUsage of={view} isNow={isNow} nowMs={nowMs} />
        <Notices of={view} nowMs={nowMs} />
        <MonthsTable of={view} />
        <PlanLimits team={team} />
      </>
    );
    const aside = isNow ? null : <a href={USAGE_PATH}>This month</a>;
    return showPage(c, { title: `Usage in ${view.month}`, body, aside });
  };
}

interface MonthProps {
  readonly of: UsageView;
  readonly isNow: boolean;
  readonly nowMs: number;
}

function MonthUsage({ of, isNow, nowMs }: MonthProps) {
  const { used, included, state } = of;
  const isLimited = included !== Infinity;
  return (
    <section aria-label="The month">
      <p class="month-use">
        <b>{formatCount(used)}</b> {isLimited
          ? `of ${formatCount(included)} events: ${percentText(used, included)}`
          : "events; the plan has no limit"}
      </p>
      {isLimited
        ? (
          <>
            <MonthBar of={of} isNow={isNow} />
            <p>
              <StateText of={state} />
            </p>
          </>
        )
        : null}
      {isNow ? <Pace of={of} nowMs={nowMs} /> : <p>This month is over.</p>}
    </section>
  );
}

function StateText({ of }: { readonly of: UsageView["state"] }) {
  const { sign, word, meaning } = QUOTA_STATE_LABELS[of];
  return (
    <>
      <strong class={`quota ${of}`}>
        <span aria-hidden="true">{sign}</span> {word}
      </strong>
      : {meaning}
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
      events{share}. Usage resets <Ago at={resetsAt} now={nowMs} />, on{" "}
      {formatInstant(resetsAt).slice(0, 10)} at 00:00 UTC.
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
    <section>
      <h2>Notices</h2>
      {notices.length === 0
        ? <p>None in this month. The owner of the team is notified at {percents} of the plan.</p>
        : <ul>{notices.map((notice) => <QuotaNoticeItem of={notice} nowMs={nowMs} />)}</ul>}
    </section>
  );
}

function QuotaNoticeItem(
  { of: { percent, state, sentAt }, nowMs }: {
    readonly of: QuotaNotice;
    readonly nowMs: number;
  },
) {
  return (
    <li>
      {percent}% reached: {NOTICE_LABELS[state]}
      {sentAt === null ? null : (
        <>
          , <Ago at={sentAt} now={nowMs} />
        </>
      )}
    </li>
  );
}
