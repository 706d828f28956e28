/** Rejected calls with the reason: the page `/dashboard/refusals`, and a notice that links to it. */
import { REFUSAL_HOURS, REFUSAL_LIMITS as KEPT } from "../../../domain/core/limits.ts";
import {
  countSince,
  firstHour,
  parseRefusalsQuery,
  type Refusal,
  type RefusalGroup,
  type RefusalReport,
  sumKinds,
} from "../../../domain/refusals/refusals.ts";
import { formatInstant, HOUR_MS } from "../../../domain/core/time.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import type { DashboardPage } from "../layout/page.ts";
import { queryText, REFUSALS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Choices } from "../components/choices.tsx";
import { Empty, InlineNotice, Section } from "../components/elements.tsx";
import { At } from "../components/time.tsx";
import { ColumnChart, Swatch } from "../components/column_chart.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import type { TeamId } from "../../../domain/core/ids.ts";

/** Periods to choose from: hours and label. */
const PERIODS = [[REFUSAL_HOURS.default, "24 hours"], [REFUSAL_HOURS.max, "7 days"]] as const;

/** Shows the calls rejected in the last hours. */
const showRefusals: Handler = async (c, { refusals, environment }) => {
  const query = parseRefusalsQuery(queryOf(c));
  if (!query.ok) return fail(c, query.problem);
  const hours = query.value;
  const nowMs = environment.now();
  const report = await refusals.read(c.get("principal").team.id, nowMs, hours);
  const body = (
    <>
      <Choices
        label="Period"
        links={PERIODS.map(([period, name]) => ({
          name,
          to: REFUSALS_PATH + queryText([["hours", period]]),
          isCurrent: period === hours,
        }))}
      />
      {report.hours.length === 0 ? <NoRefusals /> : <Report {...{ report, hours, nowMs }} />}
    </>
  );
  return showPage(c, { title: "Rejected requests", body });
};

function NoRefusals() {
  return (
    <Empty title="No request was rejected">
      <p>
        Calls that the service does not accept are counted here for 7 days, with the reason. So is a
        call that exceeds the request rate.
      </p>
    </Empty>
  );
}

interface ReportProps {
  readonly report: RefusalReport;
  readonly hours: number;
  readonly nowMs: number;
}

function Report(props: ReportProps) {
  return (
    <>
      <HoursChart {...props} />
      <KindsTable {...props} />
      <LatestTable {...props} />
    </>
  );
}

function HoursChart({ report, hours, nowMs }: ReportProps) {
  const first = firstHour(nowMs, hours);
  const byHour = new Map(report.hours.map(({ hour, count }) => [hour, count]));
  const counts = Array.from({ length: hours }, (_, i) => byHour.get(first + i * HOUR_MS) ?? 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const title = `Rejected requests by hour: ${formatCount(total)} since ${hourText(first)}`;
  return (
    <Section title={`${countedText(total, "request")} by hour`}>
      <ColumnChart
        title={title}
        columns={counts.map((count, i) => ({
          title: `${hourText(first + i * HOUR_MS)}: ${formatCount(count)}`,
          parts: [["failed", count]],
        }))}
        ends={[hourText(first), "now"]}
        top={formatCount(Math.max(...counts))}
      />
      <p class="below-chart">
        <Swatch of="failed" /> rejected requests; hours are UTC
      </p>
    </Section>
  );
}

/** Formats an hour: `11-21 12:00`. */
function hourText(ms: number): string {
  return formatInstant(ms).slice(5, 16).replace("T", " ");
}

/**
 * Columns of reasons. Agents are not linked: an agent whose calls were all rejected has no page.
 */
const KIND_COLUMNS: readonly Column<RefusalGroup>[] = [
  { head: "Code", isName: true, cell: ({ code }) => <code>{code}</code> },
  { head: "Field", before: "field", cell: ({ field }) => field ?? "–" },
  { head: "Agent", before: "agent", cell: ({ agent }) => agent ?? "–" },
  { head: "Client", before: "client", cell: ({ userAgent }) => userAgent ?? "–" },
  numberColumn("Requests", ({ count }) => formatCount(count), "requests"),
];

/** Shows how often each reason occurred, the most frequent first. */
function KindsTable({ report }: ReportProps) {
  const kinds = sumKinds(report.groups);
  return kinds.length > 0 && (
    <Section title="Reasons">
      <Table
        label="Reasons"
        class="fold"
        caption={<caption class="soft">Of this period, the most frequent first.</caption>}
        columns={KIND_COLUMNS}
        rows={kinds}
      />
    </Section>
  );
}

/** Shows the latest calls with their responses. */
function LatestTable({ report: { latest } }: ReportProps) {
  const columns: readonly Column<Refusal>[] = [
    { head: "When", cell: ({ at }) => <At at={at} /> },
    { head: "Request", cell: ({ route }) => <code>{route}</code> },
    {
      head: "Answer",
      class: "whole",
      cell: ({ code, message }) => (
        <>
          <code>{code}</code> {message}
        </>
      ),
    },
    { head: "Agent", before: "agent", cell: ({ agent }) => agent ?? "–" },
    { head: "Client", before: "client", cell: ({ userAgent }) => userAgent ?? "–" },
    { head: "X-Request-Id", cell: ({ requestId }) => <code>{requestId}</code> },
  ];
  return (
    <Section title="Latest">
      <Table
        label="Latest"
        class="fold"
        caption={
          <caption class="soft">
            Up to {KEPT.latest} of the last {KEPT.days}{" "}
            days, newest first. Of calls that exceed the request rate only the first of each minute
            are listed.
          </caption>
        }
        columns={columns}
        rows={latest}
      />
    </Section>
  );
}

/** Hours that the banner covers. */
const BANNER_HOURS = 24;

/** Counts the calls of a team that were rejected in the last 24 hours. */
export async function countRejected(
  { refusals }: Pick<AppDeps, "refusals">,
  team: TeamId,
  nowMs: number,
): Promise<number> {
  return countSince(await refusals.read(team, nowMs, 0), nowMs, BANNER_HOURS);
}

/** Shows the banner if any call was rejected. */
export function RejectedBanner({ count }: { readonly count: number }) {
  return count === 0 ? null : (
    <InlineNotice kind="warn">
      <p>
        <strong>
          {countedText(count, "request")} {count === 1 ? "was" : "were"} rejected
        </strong>{" "}
        in the last {BANNER_HOURS} hours. Nothing of {count === 1 ? "it" : "them"} was stored.{" "}
        <a href={REFUSALS_PATH}>See which and why</a>
      </p>
    </InlineNotice>
  );
}

export const refusalsPage: DashboardPage = {
  path: REFUSALS_PATH,
  menu: { name: "Rejected requests", area: "settings" },
  access: teamKey("read"),
  handler: showRefusals,
};
