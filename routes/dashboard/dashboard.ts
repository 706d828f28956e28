/** The dashboard: the table of its pages, their routes, and the guards for page requests. */
import { monthOf } from "../../domain/core/time.ts";
import { suspensionOf } from "../../domain/teams/credentials.ts";
import { planOfTeam } from "../../domain/teams/plans.ts";
import { quotaState, type QuotaUse } from "../../domain/teams/quota.ts";
import type { Team } from "../../domain/teams/team.ts";
import { REFERENCE_SCRIPT, sendReferenceScript } from "../docs/reference.ts";
import { answerText, fail } from "../http/answer.ts";
import type { Guard, Handle, MenuEntry, RequestContext, Route } from "../http/context.ts";
import { readForm } from "../http/body.ts";
import { authorize, teamKeyOrOperator } from "../http/access.ts";
import { requireHost, requireSameOrigin } from "../http/target.ts";
import { limitRate, metered } from "../http/rate.ts";
import type { HandlerDeps } from "../http/admission.ts";
import { clientOf, sessionAuth, tokenOf } from "../http/credential.ts";
import { SHUTTING_DOWN } from "../api/service/service.ts";
import { DASHBOARD_PATH, PLAN_PATH, SIGN_IN, VIEW_PATH } from "./layout/paths.ts";
import { renderProblemPage, seeOther } from "./layout/reply.tsx";
import { submitView } from "./layout/view_form.ts";
import { agentsPage } from "./agents/page.tsx";
import { auditLogPage } from "./audit_log/page.tsx";
import { checksPage } from "./checks/page.tsx";
import { keysPage } from "./keys/page.tsx";
import { sendAsset } from "./layout/assets.ts";
import type { DashboardPage } from "./layout/page.ts";
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
  const menu = hasOperator ? MENU : MENU.filter(({ path }) => path !== PLAN_PATH);
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
      hasOperator ? readQuota(deps, team, frame.nowMs) : undefined,
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
  return { routes: pageRoutes(deps), guards, asPage, recognize };
}

/** Reads the usage of the current month and compares it with the plan. */
async function readQuota({ usage }: HandlerDeps, team: Team, nowMs: number): Promise<QuotaUse> {
  const month = monthOf(nowMs);
  const used = await usage.used(team.id, month);
  const included = planOfTeam(team).eventsPerMonth;
  return { month, used, included, state: quotaState(used, included) };
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
  alertsPage,
  checksPage,
  teamsPage,
  rateCardPage,
  keysPage,
  refusalsPage,
  planPage,
  auditLogPage,
];

/** The menu of all pages. */
const MENU: readonly MenuEntry[] = PAGES.flatMap(
  ({ menu, path, access, menuAccess = access }) =>
    menu === undefined || menuAccess === null ? [] : [{ ...menu, path, access: menuAccess }],
);

function pageRoutes(deps: HandlerDeps): Route[] {
  const pages = PAGES.flatMap(({ path, access, handler, routes = [] }) => [
    { method: "GET" as const, path, access, handler },
    ...routes.map((route) => ({ access, ...route })),
  ]);
  return [
    { method: "GET", path: "/", access: null, handler: () => seeOther(DASHBOARD_PATH) },
    { method: "GET", path: `${DASHBOARD_PATH}/assets/:name`, access: null, handler: sendAsset },
    {
      method: "GET",
      path: REFERENCE_SCRIPT,
      access: null,
      handler: (c) => sendReferenceScript(c, deps),
    },
    { method: "POST", path: VIEW_PATH, access: teamKeyOrOperator("read"), handler: submitView },
    ...pages.map((page) => {
      const handler: Handle = (c) => page.handler(c, deps);
      return { ...page, handler: page.access === null ? handler : metered(deps, handler) };
    }),
  ];
}
