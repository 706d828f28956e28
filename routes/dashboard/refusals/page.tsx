/** `/dashboard/refusals`: rejected calls with the reason. */
import { REFUSAL_HOURS } from "../../../domain/core/limits.ts";
import {
  firstHour,
  parseRefusalsQuery,
  type RefusalHour,
  type RefusalReport,
  sumKinds,
} from "../../../domain/refusals/refusals.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import type { DashboardPage } from "../layout/page.ts";
import { queryText, REFUSALS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Choices } from "../components/choices.tsx";
import { Empty } from "../components/elements.tsx";
import { ColumnChart, Swatch } from "../components/column_chart.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { KindsTable, LatestTable } from "./tables.tsx";

const HOUR_MS = 3_600_000;

/** Periods to choose from: hours and label. */
const PERIODS = [[REFUSAL_HOURS.default, "24 hours"], [REFUSAL_HOURS.max, "7 days"]] as const;

export const refusalsPage: DashboardPage = {
  path: REFUSALS_PATH,
  menu: "Rejected requests",
  access: teamKey("read"),
  handler: showRefusals,
};

/** Shows the calls rejected in the last hours. */
function showRefusals({ refusals, environment }: AppDeps): Handle {
  return async (c) => {
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
}

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

function Report({ report, hours, nowMs }: ReportProps) {
  const kinds = sumKinds(report.groups);
  return (
    <>
      <HoursChart {...{ report, hours, nowMs }} />
      {kinds.length === 0 ? null : <KindsTable kinds={kinds} />}
      <LatestTable latest={report.latest} nowMs={nowMs} />
    </>
  );
}

function HoursChart({ report, hours, nowMs }: ReportProps) {
  const first = firstHour(nowMs, hours);
  const counts = countsOf(report.hours, first, hours);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const title = `Rejected requests by hour: ${formatCount(total)} since ${hourText(first)}`;
  return (
    <section>
      <h2>{countedText(total, "request")} by hour</h2>
      <ColumnChart
        title={title}
        columns={counts.map((count, i) => ({
          title: `${hourText(first + i * HOUR_MS)}: ${formatCount(count)}`,
          parts: [["failed", count]],
        }))}
        ends={[hourText(first), "now"]}
        top={formatCount(Math.max(...counts))}
        usual={null}
      />
      <p class="below-chart">
        <Swatch of="failed" /> rejected requests; hours are UTC
      </p>
    </section>
  );
}

/** Returns the counts of consecutive hours, oldest first. */
function countsOf(counted: readonly RefusalHour[], first: number, hours: number): number[] {
  const counts = new Map(counted.map(({ hour, count }) => [hour, count]));
  return Array.from({ length: hours }, (_, i) => counts.get(first + i * HOUR_MS) ?? 0);
}

/** Formats an hour: `11-21 12:00`. */
function hourText(ms: number): string {
  return formatInstant(ms).slice(5, 16).replace("T", " ");
}
