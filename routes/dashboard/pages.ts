/** The table of pages: routes, menu and access derive from it. */
import type { MenuEntry, Route } from "../http/context.ts";
import { agentsPage } from "./agents/page.tsx";
import { auditLogPage } from "./audit_log/page.tsx";
import { keysPage } from "./keys/page.tsx";
import { sendAsset } from "./layout/assets.ts";
import type { DashboardPage } from "./layout/page.ts";
import type { HandlerDeps } from "../http/admission.ts";
import { DASHBOARD_PATH } from "./layout/paths.ts";
import { seeOther } from "./layout/reply.tsx";
import { overviewPage } from "./overview/page.tsx";
import { rateCardPage } from "./rate_card/page.tsx";
import { refusalsPage } from "./refusals/page.tsx";
import { runPage } from "./run/page.tsx";
import { runsPage } from "./runs/page.tsx";
import { signInPage } from "./sign_in/page.tsx";
import { spendPage } from "./spend/page.tsx";
import { teamPage } from "./team/page.tsx";
import { teamsPage } from "./teams/page.tsx";
import { usagePage } from "./usage/page.tsx";

/** All pages, in the order of the menu. */
const PAGES: readonly DashboardPage[] = [
  signInPage,
  overviewPage,
  runsPage,
  runPage,
  refusalsPage,
  agentsPage,
  spendPage,
  rateCardPage,
  usagePage,
  keysPage,
  teamPage,
  teamsPage,
  auditLogPage,
];

/** The menu of all pages. */
export const MENU: readonly MenuEntry[] = PAGES.flatMap(
  ({ menu: name, path, access, menuAccess = access }) =>
    name === undefined || menuAccess === null ? [] : [{ name, path, access: menuAccess }],
);

export function pageRoutes(deps: HandlerDeps): Route[] {
  return [
    { method: "GET", path: "/", access: null, handler: () => seeOther(DASHBOARD_PATH) },
    { method: "GET", path: `${DASHBOARD_PATH}/assets/:name`, access: null, handler: sendAsset },
    ...PAGES.flatMap((page) => routesOf(page, deps)),
  ];
}

function routesOf(
  { path, access, handler, routes = [] }: DashboardPage,
  deps: HandlerDeps,
): Route[] {
  return [
    { method: "GET", path, access, handler: handler(deps) },
    ...routes.map((route) => ({ access, ...route, handler: route.handler(deps) })),
  ];
}
