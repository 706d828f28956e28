/** `/dashboard`: today, compared with the days before. */
import { Query } from "../../../domain/core/query.ts";
import { answerText, fail } from "../../http/answer.ts";
import { teamKey, teamKeyOrOperator } from "../../http/access.ts";
import { queryOf } from "../../http/query.ts";
import { openCounts, sumOf } from "../alerts/frame.tsx";
import { Ago, Empty, reloading, Sign, Tabs } from "../components/elements.tsx";
import {
  type CommandTarget,
  commandTarget,
  FirstCommand,
  SampleRuns,
  SAMPLES_ID,
} from "../components/first_command.tsx";
import { type DashboardPage, type PageHandler, post, seeOther, showPage } from "../layout/page.tsx";
import { DASHBOARD_PATH, queryText, RUNS_PATH, SAMPLES_PATH, TEAMS_PATH } from "../layout/paths.ts";
import { type Attention, attentionOf, NeedsAttention, Side } from "./attention.tsx";
import { Banners } from "./banners.tsx";
import { Charts, SpendByAgent, Stats } from "./metrics.tsx";
import { loadOverview, type OverviewData } from "./overview_load.ts";
import { RANGE_DEFAULT, RANGES, spanAt, USUAL_DAYS } from "./overview_view.ts";

/** Seconds between reloads of the page of a team without runs, and between updates. */
const RELOAD_SECONDS = 5, UPDATE_SECONDS = 30;

/** Id of the part of the page that updates itself. */
const UPDATED = "overview";

const day = new Intl.DateTimeFormat("en", {
  ...{ weekday: "long", month: "long", day: "numeric", hour: "2-digit", minute: "2-digit" },
  ...{ hourCycle: "h23", timeZone: "UTC" },
});

const showOverview: PageHandler = async (visit) => {
  const { c, deps, team, principal: { grant } } = visit;
  // The operator has no runs.
  if (grant.kind === "operator") return seeOther(TEAMS_PATH);
  const range = new Query(queryOf(c)).choice("days", RANGES.map(String));
  const nowMs = deps.environment.now();
  const span = spanAt(nowMs, Number(range ?? RANGE_DEFAULT));
  const data = await loadOverview(visit, span, openCounts(c));
  const attention = attentionOf(data, sumOf(openCounts(c)));
  // Days of sums are UTC days, unlike times on the page.
  const subtitle = (
    <span id="overview-now">
      <time datetime={span.today}>{day.format(nowMs)}</time> UTC; a day is a UTC day
    </span>
  );
  // The guide polls for the first run.
  const isPoll = c.req.header("hx-request") === "true" && c.req.header("hx-target") !== UPDATED;
  if (data.days.some(({ runs }) => runs > 0)) {
    const links = RANGES.map((days) => ({
      ...{ name: `${days} days`, to: rangePath(days), isCurrent: days === span.range },
    }));
    const aside = <Tabs class="seg" label="Days of the charts" tabs={links} />;
    const view = { title: "Overview", subtitle, aside, body: bodyOf(data, attention) };
    return showPage(c, view, isPoll ? { "HX-Refresh": "true" } : {});
  }
  // No content leaves the page alone, so that selected text stays selected.
  if (isPoll) return answerText(c, 204, null, null, { "Cache-Control": "no-store" });
  const { rows: [newest] } = await deps.runList.page(team, { from: null, to: null }, null, 1);
  const last = newest === undefined ? null : newest.startedAt ?? newest.receivedAt;
  const body = [
    <Banners of={data.problems} />,
    attention.count > 0 && <NeedsAttention of={attention} />,
    guideFor(await commandTarget(visit), last),
  ];
  return showPage(c, { title: "Overview", subtitle, body, reloadSeconds: RELOAD_SECONDS });
};

function rangePath(days: number): string {
  return DASHBOARD_PATH + queryText([["days", days === RANGE_DEFAULT ? null : days]]);
}

function bodyOf(data: OverviewData, attention: Attention) {
  return (
    <div
      class="stack"
      {...reloading(UPDATED, rangePath(data.span.range), UPDATE_SECONDS, "#overview-now")}
    >
      <Banners of={data.problems} />
      <Stats data={data} />
      <div class="overview">
        <NeedsAttention of={attention} />
        <Side data={data} />
        <Charts data={data} />
        <SpendByAgent data={data} />
      </div>
    </div>
  );
}

/** Loads the sample runs; the answer waits for them. */
const loadSampleRuns: PageHandler = async (visit) => {
  const { c, deps } = visit;
  const { hasSamples } = await commandTarget(visit);
  if (!hasSamples || deps.loadSamples === null) {
    return fail(c, { code: "not_found", message: "Only deno task dev has sample runs" });
  }
  await deps.loadSamples();
  return c.req.header("hx-request") === "true"
    ? answerText(c, 204, null, null, { "HX-Refresh": "true", "Cache-Control": "no-store" })
    : seeOther(DASHBOARD_PATH);
};

/** Shows the first call to make, and the start of the newest run; null for a team without one. */
function guideFor(target: CommandTarget, last: number | null) {
  // A page that polls while samples are loading would show a part of them.
  const hasSamples = last === null && target.hasSamples;
  return (
    <Empty title={last === null ? "Send your first run" : "No recent runs"}>
      {last !== null && (
        <p>
          No run began today or in the {USUAL_DAYS} days before; the newest one began{" "}
          <Ago at={last} />. <a href={RUNS_PATH}>See all runs</a>
        </p>
      )}
      <FirstCommand id="first-ping" call="ping" target={target} />
      <p
        class="wait"
        hx-get={DASHBOARD_PATH}
        hx-trigger="every 5s"
        hx-swap="none"
        hx-sync={hasSamples ? `#${SAMPLES_ID}:drop` : undefined}
        role="status"
      >
        <Sign icon="run" />
        Waiting for the first run. This page changes by itself.
      </p>
      {hasSamples && <SampleRuns of={target} />}
      <p class="quiet">
        Runs with model calls, tokens and costs take three calls: see the <a href="/docs">API</a>.
      </p>
    </Empty>
  );
}

/** The overview. The operator may open it, but is redirected to the teams. */
export const overviewPage: DashboardPage = {
  path: DASHBOARD_PATH,
  menu: { name: "Overview", area: "main", access: teamKey("read") },
  access: teamKeyOrOperator("read"),
  handler: showOverview,
  routes: [post(SAMPLES_PATH, loadSampleRuns, teamKey("admin"))],
};
