/** `/dashboard`: today, compared with the days before. */
import { answerText } from "../../http/answer.ts";
import { teamKey, teamKeyOrOperator } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { type DashboardPage, post } from "../layout/page.ts";
import { DASHBOARD_PATH, SAMPLES_PATH, TEAMS_PATH } from "../layout/paths.ts";
import { commandTarget } from "../components/first_command.tsx";
import { seeOther, showPage } from "../layout/reply.tsx";
import { durationText } from "../components/format.ts";
import { openCounts, sumOf } from "../alerts/frame.tsx";
import { NeedsAttention } from "./attention.tsx";
import { Banners } from "./banners.tsx";
import { FirstRunGuide, loadSampleRuns, readLastStart } from "./first_run.tsx";
import { Charts, DaysTable } from "./charts.tsx";
import { type Overview, readOverview } from "./read.ts";
import { AgentsTable, FailuresTable, SlowestTable } from "./tables.tsx";
import { OverviewTiles } from "./tiles.tsx";

/** Seconds between reloads of the page of a team without runs. */
const RELOAD_SECONDS = 5;

const showOverview: Handler = async (c, deps) => {
  const principal = c.get("principal");
  const { team, grant } = principal;
  // The operator has no runs.
  if (grant.kind === "operator") return seeOther(TEAMS_PATH);
  const nowMs = deps.environment.now();
  const content = {
    ...await readOverview(deps, team, nowMs, openCounts(c)),
    quota: c.get("frame").quota,
    open: sumOf(openCounts(c)),
  };
  const page = { title: "Overview", lead: <Today {...content.span} /> };
  const isPoll = c.req.header("hx-request") === "true";
  if (content.days.some(({ runs }) => runs > 0)) {
    // The guide was polling for the first run: reload the page.
    const headers: Record<string, string> = isPoll ? { "HX-Refresh": "true" } : {};
    return showPage(c, { ...page, body: <Body {...content} /> }, headers);
  }
  // No content leaves the page alone, so that selected text stays selected.
  if (isPoll) return answerText(c, 204, null, null, { "Cache-Control": "no-store" });
  const last = await readLastStart(deps, team);
  const body = (
    <>
      <Banners {...content} />
      <NeedsAttention {...content} />
      <FirstRunGuide
        target={await commandTarget(deps, c)}
        last={last}
        nowMs={nowMs}
      />
    </>
  );
  return showPage(c, { ...page, body, reloadSeconds: RELOAD_SECONDS });
};

/** Shows the day and its elapsed part. */
function Today({ today, startMs, endMs, passed }: Overview["span"]) {
  return (
    <>
      <time datetime={today}>{today}</time> (UTC), {durationText(passed * (endMs - startMs))}{" "}
      of 24 h
    </>
  );
}

function Body(overview: Overview & { readonly open: number }) {
  return (
    <>
      <Banners {...overview} />
      <OverviewTiles {...overview} />
      <NeedsAttention {...overview} />
      <Charts {...overview} />
      <DaysTable {...overview} />
      <div class="cols two">
        <FailuresTable {...overview} />
        <AgentsTable {...overview} />
        <SlowestTable {...overview} />
      </div>
    </>
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
