/** The dashboard: its pages, and what a request for one must pass. */
import { answerText, fail } from "../http/answer.ts";
import type { AppDeps, Guard, RequestContext, Route } from "../http/context.ts";
import { readForm } from "../http/body.ts";
import { authorize } from "../http/authorize.ts";
import { requireHost } from "../http/host.ts";
import { limitRate, metered } from "../http/rate.ts";
import type { Admission } from "../http/admission.ts";
import { requireSameOrigin } from "../http/same_origin.ts";
import { sessionAuth } from "../http/session.ts";
import { SHUTTING_DOWN } from "../api/service/service.ts";
import { DASHBOARD_PATH, SIGN_IN } from "./layout/paths.ts";
import { renderProblemPage } from "./layout/problem.tsx";
import { seeOther } from "./layout/reply.tsx";
import { pageTable } from "./pages.ts";

/** The dashboard, for the application. */
export interface Dashboard {
  readonly routes: readonly Route[];
  /** What a request must pass before it comes to the handler of a route. */
  guards(route: Route): Guard[];
  /** Has refusals told as pages, where the path is one of the dashboard. */
  readonly asPage: Guard;
}

/** Builds the dashboard. */
export function createDashboard(deps: AppDeps, admission: Admission): Dashboard {
  const whileServing: Guard = (c) => deps.draining() ? fail(c, SHUTTING_DOWN) : null;
  const authenticate = sessionAuth(deps, askToSignIn);
  const asPage: Guard = (c) => {
    if (c.req.path.startsWith(DASHBOARD_PATH)) c.set("renderProblem", renderProblemPage);
    return null;
  };

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
      ]),
      ...(changes ? [readForm(deps.bodyDeadlines, admission), admission.require] : []),
    ];
  }
  const routes = pageTable({ ...deps, admission }).map((route) =>
    route.access === null ? route : { ...route, handler: metered(deps, route.handler) }
  );
  return { routes, guards, asPage };
}

/**
 * Sends to the form for keys, and back to the page afterwards; what was sent by a form is lost. A page that
 * asks for a part of itself is loaded anew as a whole, and so comes to the form.
 */
function askToSignIn(c: RequestContext): Response {
  if (c.req.raw.headers.has("hx-request")) {
    return answerText(c, 401, null, null, { "HX-Refresh": "true", "Cache-Control": "no-store" });
  }
  const { pathname, search } = new URL(c.req.url);
  const next = c.req.method === "GET" ? pathname + search : DASHBOARD_PATH;
  return seeOther(`${SIGN_IN}?${new URLSearchParams({ next })}`);
}
