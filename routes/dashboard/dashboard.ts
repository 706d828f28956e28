/** The dashboard: its routes, and the guards for page requests. */
import { answerText, fail } from "../http/answer.ts";
import type { Guard, RequestContext, Route } from "../http/context.ts";
import { readForm } from "../http/body.ts";
import { authorize } from "../http/authorize.ts";
import { requireHost } from "../http/host.ts";
import { limitRate, metered } from "../http/rate.ts";
import type { HandlerDeps } from "../http/admission.ts";
import { requireSameOrigin } from "../http/same_origin.ts";
import { sessionAuth } from "../http/session.ts";
import { SHUTTING_DOWN } from "../api/service/service.ts";
import { DASHBOARD_PATH, SIGN_IN } from "./layout/paths.ts";
import { renderProblemPage, seeOther } from "./layout/reply.tsx";
import { MENU, pageRoutes } from "./pages.ts";

/** Builds the routes and the guards of the dashboard. */
export function createDashboard(deps: HandlerDeps) {
  const { admission } = deps;
  const whileServing: Guard = (c) => deps.draining() ? fail(c, SHUTTING_DOWN) : null;
  const authenticate = sessionAuth(deps, askToSignIn);
  /** Renders errors on dashboard paths as pages. */
  const asPage: Guard = (c) => {
    if (c.req.path.startsWith(DASHBOARD_PATH)) {
      c.set("menu", MENU);
      c.set("renderProblem", renderProblemPage);
    }
    return null;
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
      ]),
      ...(changes ? [readForm(deps.bodyDeadlines, admission), admission.require] : []),
    ];
  }
  const routes = pageRoutes(deps).map((route) =>
    route.access === null ? route : { ...route, handler: metered(deps, route.handler) }
  );
  return { routes, guards, asPage };
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
