/** `/dashboard/alerts`: the place of alerts; the service has none yet. */
import { teamKey } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { Empty } from "../components/elements.tsx";
import type { DashboardPage } from "../layout/page.ts";
import { ALERTS_PATH, queryText, RUNS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";

const showAlerts: Handler = (c) =>
  showPage(c, {
    title: "Alerts",
    body: (
      <Empty title="No alerts">
        <p>
          Failing agents, late agents and budgets will be listed here. Until then, see{" "}
          <a href={RUNS_PATH + queryText([["status", "failed"]])}>the failed runs</a>.
        </p>
      </Empty>
    ),
  });

export const alertsPage: DashboardPage = {
  path: ALERTS_PATH,
  menu: { name: "Alerts", area: "main" },
  access: teamKey("read"),
  handler: showAlerts,
};
