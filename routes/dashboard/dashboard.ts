/** The dashboard: the table of its pages, their routes, and the guards for page requests. */
import { monthOf } from "../../domain/core/time.ts";
import { suspensionOf } from "../../domain/teams/credentials.ts";
import { REFERENCE_SCRIPT, sendReferenceScript } from "../docs/reference.ts";
import { answerText, fail } from "../http/answer.ts";
import type { Guard, Handle, MenuEntry, RequestContext, Route } from "../http/context.ts";
import { readForm } from "../http/body.ts";
import { authorize, teamKeyOrOperator } from "../http/access.ts";
import { requireHost, requireSameOrigin } from "../http/target.ts";
import { limitRate, metered } from "../http/rate.ts";
import type { HandlerDeps } from "../http/admission.ts";
import { clientOf, sessionAuth, tokenOf } from "../http/credential.ts";
import { readQuota } from "../api/teams/teams.ts";
import { SHUTTING_DOWN } from "../api/service/service.ts";
import { DASHBOARD_PATH, SIGN_IN, VIEW_PATH } from "./layout/paths.ts";
import {
  answerVisit,
  type DashboardPage,
  get,
  renderProblemPage,
  seeOther,
  submitView,
  visitOf,
} from "./layout/page.tsx";
import { agentsPage } from "./agents/page.tsx";
import { auditLogPage } from "./audit_log/page.tsx";
import { budgetsPage } from "./budgets/budgets.tsx";
import { pausesPage } from "./budgets/pauses.tsx";
import { checksPage } from "./checks/page.tsx";
import { connectPage } from "./connect/page.tsx";
import { judgesPage } from "./judges/page.tsx";
import { keysPage } from "./keys/page.tsx";
import { sendAsset } from "./layout/assets.ts";
import { alertsPage } from "./alerts/page.tsx";
import { overviewPage } from "./overview/page.tsx";
import { planPage } from "./plan/page.tsx";
import { rateCardPage } from "./rate_card/page.tsx";
import { refusalsPage } from "./refusals/page.tsx";
import { runPage } from "./run/page.tsx";
import { runsPage } from "./runs/page.tsx";
import { searchPage } from "./search/page.tsx";
import { signInPage } from "./sign_in/page.tsx";
import { spendPage } from "./spend/page.tsx";
import { teamsPage } from "./teams/page.tsx";

/** Builds the routes and the guards of the dashboard. */
export function createDashboard(deps: HandlerDeps) {
  const { admission, hasOperator } = deps;
  // Without an operator there is one team, whose plan nobody sells.
  const pages = hasOperator ? PAGES : PAGES.filter((page) => page !== planPage);
  const menu = pages.flatMap(({ menu, path, access }): MenuEntry[] =>
    menu === undefined || access === null ? [] : [{ path, access, ...menu }]
  );
  const whileServing: Guard = (c) => deps.draining() ? fail(c, SHUTTING_DOWN) : null;
  const authenticate = sessionAuth(deps, askToSignIn);
  /** Renders errors on dashboard paths as pages. */
  const asPage: Guard = (c) => {
    if (c.req.path.startsWith(DASHBOARD_PATH)) {
      c.set("frame", { menu, hasOperator, nowMs: deps.environment.now() });
      c.set("renderProblem", renderProblemPage);
    }
    return null;
  };
  /** Reads what the frame of a page shows: open incidents, and the events of the month. */
  const readFrame: Guard = async (c) => {
    const { team, grant } = c.get("principal");
    if (grant.kind === "operator") return null;
    const frame = c.get("frame");
    const [open, quota] = await Promise.all([
      deps.incidents.openCounts(team),
      hasOperator ? readQuota(deps.usage, team, monthOf(frame.nowMs)) : undefined,
    ]);
    c.set("frame", { ...frame, open, ...quota && { quota } });
    return null;
  };
  /** Finds the session of a request for a page that does not exist: the answer keeps the navigation. */
  const recognize: Guard = async (c) => {
    const token = c.req.path.startsWith(DASHBOARD_PATH) ? tokenOf(c) : null;
    if (token === null) return null;
    const principal = await deps.sessions.find(token, () => clientOf(c, token));
    if (principal === null || suspensionOf(principal) !== null) return null;
    c.set("principal", principal);
    return await readFrame(c);
  };

  /** Returns the guards that run before the handler of a route. */
  function guards({ method, access }: Route): Guard[] {
    const changes = method !== "GET";
    return [
      asPage,
      requireHost(deps),
      whileServing,
      admission.require,
      ...(changes ? [requireSameOrigin] : []),
      ...(access === null ? [] : [
        authorize(access, authenticate, [limitRate(deps, "control", { reserve: true })]),
        readFrame,
      ]),
      ...(changes ? [readForm(deps.bodyDeadlines, admission), admission.require] : []),
    ];
  }
  return { routes: routesOf(pages, deps), guards, asPage, recognize };
}

/**
 * Redirects to the sign-in form, and from there back to the page; submitted form data is lost. For
 * an htmx request, has the browser reload the page, which leads to the form.
 */
function askToSignIn(c: RequestContext): Response {
  if (c.req.raw.headers.has("hx-request")) {
    return answerText(c, 401, null, null, { "HX-Refresh": "true", "Cache-Control": "no-store" });
  }
  const { pathname, search } = new URL(c.req.url);
  const next = c.req.method === "GET" ? pathname + search : DASHBOARD_PATH;
  return seeOther(`${SIGN_IN}?${new URLSearchParams({ next })}`);
}

/** All pages, in the order of the menu. */
const PAGES: readonly DashboardPage[] = [
  signInPage,
  searchPage,
  overviewPage,
  runsPage,
  runPage,
  agentsPage,
  spendPage,
  budgetsPage,
  pausesPage,
  alertsPage,
  checksPage,
  judgesPage,
  teamsPage,
  rateCardPage,
  connectPage,
  keysPage,
  refusalsPage,
  planPage,
  auditLogPage,
];

function routesOf(pages: readonly DashboardPage[], deps: HandlerDeps): Route[] {
  const open = { method: "GET", access: null } as const;
  const forms = pages.flatMap(({ path, access, handler, routes = [] }) =>
    [get(path, handler), ...routes].map((route) => {
      const needed = route.access ?? access;
      const handle: Handle = (c) => answerVisit(visitOf(c, deps), route.handler);
      return {
        ...route,
        access: needed,
        handler: needed === null ? handle : metered(deps, handle),
      };
    })
  );
  return [
    { ...open, path: "/", handler: () => seeOther(DASHBOARD_PATH) },
    { ...open, path: `${DASHBOARD_PATH}/assets/:name`, handler: sendAsset },
    {
      ...open,
      path: REFERENCE_SCRIPT,
      handler: (c) => sendReferenceScript(c, deps, c.get("principal")),
    },
    { method: "POST", path: VIEW_PATH, access: teamKeyOrOperator("read"), handler: submitView },
    ...forms,
  ];
}
