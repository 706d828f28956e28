/** `/dashboard`: how today goes, against the days before. */
import { answerText } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { mayAdmin } from "../../http/access.ts";
import { TEAMS_PATH } from "../layout/paths.ts";
import { originOf } from "../components/origin.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { durationText, percentText } from "../components/format.ts";
import { Banners } from "./banners.tsx";
import { FirstRunGuide, readLastStart } from "./first_run.tsx";
import { Charts, DaysTable } from "./charts.tsx";
import { type Overview, readOverview } from "./read.ts";
import { AgentsTable, FailuresTable, SlowestTable } from "./tables.tsx";
import { OverviewTiles } from "./tiles.tsx";

/** Seconds after which the page of a team without runs looks again. */
const LOOK_AGAIN_SECONDS = 5;

/** Shows the first page. */
export function showOverview(deps: AppDeps): Handle {
  return async (c) => {
    const principal = c.get("principal");
    const { team, grant } = principal;
    // The operator has no runs; what it looks after are teams.
    if (grant.kind === "operator") return seeOther(TEAMS_PATH);
    const nowMs = deps.environment.now();
    const overview = await readOverview(deps, team, nowMs);
    const page = { title: "Overview", aside: <Today of={overview} /> };
    const isPoll = c.req.header("hx-request") === "true";
    if (overview.days.some(({ runs }) => runs > 0)) {
      // Whoever waited for the first run sees the whole page.
      const headers = isPoll ? { "HX-Refresh": "true" } : {};
      const body = <Body of={overview} nowMs={nowMs} />;
      return showPage(c, { ...page, body }, headers as Record<string, string>);
    }
    // Nothing to change in the page that waits: what somebody is about to copy stays selected.
    if (isPoll) {
      return answerText(c, 204, null, null, { "Cache-Control": "no-store" });
    }
    const last = await readLastStart(deps, team);
    const body = (
      <>
        <Banners of={overview} />
        <FirstRunGuide
          origin={originOf(c)}
          last={last}
          mayCreateKeys={mayAdmin(principal)}
          nowMs={nowMs}
        />
      </>
    );
    return showPage(c, { ...page, body, reloadSeconds: LOOK_AGAIN_SECONDS });
  };
}

/** Which day is meant, and how much of it is over. */
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
