/** `/dashboard`: today, compared with the days before. */
import { readQuery } from "../../../domain/core/query.ts";
import { answerText, fail } from "../../http/answer.ts";
import { teamKey, teamKeyOrOperator } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { queryOf } from "../../http/query.ts";
import { type DashboardPage, post } from "../layout/page.ts";
import { DASHBOARD_PATH, queryText, SAMPLES_PATH, TEAMS_PATH } from "../layout/paths.ts";
import { Choices } from "../components/elements.tsx";
import { commandTarget } from "../components/first_command.tsx";
import { seeOther, showPage } from "../layout/reply.tsx";
import { openCounts, sumOf } from "../alerts/frame.tsx";
import { NeedsAttention, RunningNow } from "./attention.tsx";
import { Banners } from "./banners.tsx";
import { FirstRunGuide, loadSampleRuns, readLastStart } from "./first_run.tsx";
import { Charts } from "./charts.tsx";
import { loadOverview, type OverviewData } from "./overview_load.ts";
import { openRunsOf, RANGE_DEFAULT, RANGES, type Span, spanAt } from "./overview_view.ts";
import { Stats } from "./stats.tsx";
import { Tables } from "./tables.tsx";

/** Seconds between reloads of the page of a team without runs, and between updates. */
const RELOAD_SECONDS = 5, UPDATE_SECONDS = 30;

/** Id of the part of the page that updates itself. */
const UPDATED = "overview";

const showOverview: Handler = async (c, deps) => {
  const { team, grant } = c.get("principal");
  // The operator has no runs.
  if (grant.kind === "operator") return seeOther(TEAMS_PATH);
  const range = readQuery(queryOf(c), (query) => query.choice("days", RANGES.map(String)));
  if (!range.ok) return fail(c, range.problem);
  const nowMs = deps.environment.now();
  const span = spanAt(nowMs, Number(range.value ?? RANGE_DEFAULT));
  const data = await loadOverview(deps, team, span, openCounts(c));
  const open = sumOf(openCounts(c));
  const page = { title: "Overview", lead: <Now span={span} />, aside: <Ranges of={span.range} /> };
  // The guide polls for the first run.
  const isPoll = c.req.header("hx-request") === "true" && c.req.header("hx-target") !== UPDATED;
  if (data.days.some(({ runs }) => runs > 0)) {
    const headers: Record<string, string> = isPoll ? { "HX-Refresh": "true" } : {};
    return showPage(c, { ...page, body: <Body data={data} open={open} /> }, headers);
  }
  // No content leaves the page alone, so that selected text stays selected.
  if (isPoll) return answerText(c, 204, null, null, { "Cache-Control": "no-store" });
  const last = await readLastStart(deps, team);
  const body = (
    <>
      <Banners messages={data.messages} dead={data.dead} rejected={data.rejected} />
      <NeedsAttention
        attention={data.attention}
        lines={data.lines}
        days={data.days}
        open={open}
        nowMs={nowMs}
        isOptional
      />
      <FirstRunGuide target={await commandTarget(deps, c)} last={last} nowMs={nowMs} />
    </>
  );
  return showPage(c, { ...page, aside: null, body, reloadSeconds: RELOAD_SECONDS });
};

const day = new Intl.DateTimeFormat("en", {
  ...{ weekday: "long", month: "long", day: "numeric", hour: "2-digit", minute: "2-digit" },
  ...{ hourCycle: "h23", timeZone: "UTC" },
});

/** Names the time in UTC: days of sums are UTC days, unlike times on the page. */
function Now({ span: { nowMs, today } }: { readonly span: Span }) {
  return (
    <span id="overview-now">
      <time datetime={today}>{day.format(nowMs)}</time> UTC; a day is a UTC day
    </span>
  );
}

function Ranges({ of }: { readonly of: number }) {
  const links = RANGES.map((days) => ({
    name: `${days} days`,
    to: rangePath(days),
    isCurrent: days === of,
  }));
  return <Choices label="Days of the charts" links={links} />;
}

function rangePath(days: number): string {
  return DASHBOARD_PATH + queryText([["days", days === RANGE_DEFAULT ? null : days]]);
}

interface BodyProps {
  readonly data: OverviewData;
  /** Number of open incidents. */
  readonly open: number;
}

function Body({ data, open }: BodyProps) {
  const { span, days, usual, hours, running, lines } = data;
  const openRuns = openRunsOf(running.rows, running.usual, lines, span.nowMs);
  return (
    <div
      id={UPDATED}
      class="stack"
      hx-get={rangePath(span.range)}
      hx-trigger={`every ${UPDATE_SECONDS}s`}
      hx-sync="this:drop"
      hx-select={`#${UPDATED}`}
      hx-select-oob="#overview-now"
      hx-swap="outerHTML"
    >
      <Banners messages={data.messages} dead={data.dead} rejected={data.rejected} />
      <Stats
        days={days}
        usual={usual}
        hours={hours}
        span={span}
        running={running}
        openRuns={openRuns}
      />
      <div class="cols main-side">
        <NeedsAttention
          attention={data.attention}
          lines={lines}
          days={days}
          open={open}
          nowMs={span.nowMs}
        />
        <RunningNow runs={openRuns} count={running.count} />
      </div>
      <Charts days={days} span={span} usual={usual} hours={hours} />
      <Tables agents={data.agents} slowest={data.slowest} lines={lines} span={span} />
    </div>
  );
}

/** The overview. The operator may open it, but is redirected to the teams. */
export const overviewPage: DashboardPage = {
  path: DASHBOARD_PATH,
  menu: { name: "Overview", area: "main" },
  menuAccess: teamKey("read"),
  access: teamKeyOrOperator("read"),
  handler: showOverview,
  routes: [post(SAMPLES_PATH, loadSampleRuns, teamKey("admin"))],
};
