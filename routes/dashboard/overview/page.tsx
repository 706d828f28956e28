/** `/dashboard`: today, compared with the days before. */
import { answerText } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { mayAdmin, teamKey, teamKeyOrOperator } from "../../http/access.ts";
import overview from "../assets/style/overview.css" with { type: "text" };
import type { DashboardPage } from "../layout/page.ts";
import { DASHBOARD_PATH, TEAMS_PATH } from "../layout/paths.ts";
import { originOf } from "../components/origin.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { durationText, percentText } from "../components/format.ts";
import { Banners } from "./banners.tsx";
import { FirstRunGuide, readLastStart } from "./first_run.tsx";
import { Charts, DaysTable } from "./charts.tsx";
import { type Overview, readOverview } from "./read.ts";
import { AgentsTable, FailuresTable, SlowestTable } from "./tables.tsx";
import { OverviewTiles } from "./tiles.tsx";

/** The overview. The operator may open it, but is redirected to the teams. */
export const overviewPage: DashboardPage = {
  path: DASHBOARD_PATH,
  menu: "Overview",
  menuAccess: teamKey("read"),
  access: teamKeyOrOperator("read"),
  handler: showOverview,
  styles: [overview],
};

/** Seconds between reloads of the page of a team without runs. */
const RELOAD_SECONDS = 5;

function showOverview(deps: AppDeps): Handle {
  return async (c) => {
    const principal = c.get("principal");
    const { team, grant } = principal;
    // The operator has no runs.
    if (grant.kind === "operator") return seeOther(TEAMS_PATH);
    const nowMs = deps.environment.now();
    const content = await readOverview(deps, team, nowMs);
    const page = { title: "Overview", aside: <Today of={content} /> };
    const isPoll = c.req.header("hx-request") === "true";
    if (content.days.some(({ runs }) => runs > 0)) {
      // The guide was polling for the first run: reload the page.
      const headers = isPoll ? { "HX-Refresh": "true" } : {};
      const body = <Body of={content} nowMs={nowMs} />;
      return showPage(c, { ...page, body }, headers as Record<string, string>);
    }
    // No content leaves the page alone, so that selected text stays selected.
    if (isPoll) {
      return answerText(c, 204, null, null, { "Cache-Control": "no-store" });
    }
    const last = await readLastStart(deps, team);
    const body = (
      <>
        <Banners of={content} />
        <FirstRunGuide
          origin={originOf(c)}
          last={last}
          mayCreateKeys={mayAdmin(principal)}
          nowMs={nowMs}
        />
      </>
    );
    return showPage(c, { ...page, body, reloadSeconds: RELOAD_SECONDS });
  };
}

/** Shows the day, and the elapsed part of it. */
function Today({ of }: { readonly of: Overview }) {
  const { today, startMs, endMs, passed } = of.span;
  const agoMs = passed * (endMs - startMs);
  return (
    <span class="soft">
      <time datetime={today}>{today}</time>, a UTC day: {durationText(agoMs)} of 24 h (
      {percentText(Math.round(passed * 1_000), 1_000)}) are over
    </span>
  );
}

function Body({ of, nowMs }: { readonly of: Overview; readonly nowMs: number }) {
  return (
    <>
      <Banners of={of} />
      <OverviewTiles of={of} />
      <Charts of={of} />
      <DaysTable of={of} />
      <div class="halves">
        <FailuresTable of={of} nowMs={nowMs} />
        <AgentsTable of={of} />
        <SlowestTable of={of} nowMs={nowMs} />
      </div>
    </>
  );
}
