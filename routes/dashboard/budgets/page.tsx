/** Routes of budgets and pauses. */
import { teamKey } from "../../http/access.ts";
import { type DashboardPage, get } from "../layout/page.tsx";
import { BUDGETS_PATH, PAUSES_PATH } from "../layout/paths.ts";
import { objectRoutes } from "../objects/pages.tsx";
import { BUDGET_PAGES, showBudget, showBudgets } from "./budgets.tsx";
import { PAUSE_PAGES, showPauses } from "./pauses.tsx";

export const budgetsPage: DashboardPage = {
  path: BUDGETS_PATH,
  access: teamKey("read"),
  handler: showBudgets,
  routes: [
    get(`${BUDGETS_PATH}/:slug`, showBudget),
    ...objectRoutes(BUDGET_PAGES),
    get(PAUSES_PATH, showPauses),
    ...objectRoutes(PAUSE_PAGES),
  ],
};
