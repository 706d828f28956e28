/**
 * The dashboard: the table of its pages, and what a request for one must pass. Pages read through the same
 * ports as the API, and each URL says all that a page shows.
 */
import type { AppDeps, Guard, Handle, RequestContext, Route } from "../context.ts";
import type { Requirement } from "../../domain/credentials.ts";
import { fail } from "../answer.ts";
import { readForm } from "../guards/body.ts";
import { requireScope } from "../guards/credential.ts";
import { requireHost } from "../guards/host.ts";
import { limitRate } from "../guards/rate.ts";
import type { Room } from "../guards/room.ts";
import { requireSameOrigin } from "../guards/same_origin.ts";
import { requireSession } from "../guards/session.ts";
import { SHUTTING_DOWN } from "../health.ts";
import { key, keyOrOperator } from "../requires.ts";
import { sendAsset } from "./frame/assets.ts";
import { DASHBOARD, SIGN_IN } from "./frame/paths.ts";
import { tellAsPage } from "./frame/problem.tsx";
import { seeOther } from "./frame/reply.tsx";
import { showOverview } from "./overview.tsx";
import { rateCardPages } from "./rate_card/rate_card_pages.ts";
import { sendSpendCsv } from "./spend/spend_csv.ts";
import { SPEND } from "./spend/spend_links.ts";
import { showSpend } from "./spend/spend_page.tsx";
import { showSignIn, signIn, signOut } from "./sign_in.tsx";

/** The dashboard, for the application. */
export interface Dashboard {
  readonly routes: readonly Route[];
  /** What a request must pass before it comes to the handler of a route. */
  guards(route: Route): Guard[];
  /** Has refusals told as pages, where the path is one of the dashboard. */
  readonly asPage: Guard;
}

/** Every page, with what it asks of whoever signed in. */
function pageTable(deps: AppDeps): Route[] {
  return [
    page("GET", "/", null, () => seeOther(DASHBOARD)),
    page("GET", `${DASHBOARD}/assets/:name`, null, sendAsset),
    page("GET", SIGN_IN, null, showSignIn(deps)),
    page("POST", SIGN_IN, null, signIn(deps)),
    page("POST", `${DASHBOARD}/sign-out`, ANYBODY, signOut(deps)),
    page("GET", DASHBOARD, ANYBODY, showOverview(deps)),
    page("GET", SPEND, key("read"), showSpend(deps)),
    page("GET", `${SPEND}.csv`, key("read"), sendSpendCsv(deps)),
    ...rateCardPages(deps).map(([method, path, handler]) =>
      page(method, path, key("admin"), handler)
    ),
  ];
}

/** Whoever may sign in. */
const ANYBODY = keyOrOperator("read");

function page(
  method: Route["method"],
  path: string,
  requires: Requirement | null,
  handler: Handle,
): Route {
  return { method, path, requires, handler };
}

/** Builds the dashboard. */
export function createDashboard(deps: AppDeps, room: Room): Dashboard {
  const whileServing: Guard = (c) => deps.draining() ? fail(c, SHUTTING_DOWN) : null;
  const withSession = requireSession(deps, askToSignIn);
  const asPage: Guard = (c) => {
    if (c.req.path.startsWith(DASHBOARD)) c.set("tell", tellAsPage);
    return null;
  };

  function guards({ method, requires }: Route): Guard[] {
    const changes = method !== "GET";
    return [
      asPage,
      requireHost,
      whileServing,
      room.require,
      ...(changes ? [requireSameOrigin] : []),
      ...(requires === null ? [] : [
        withSession,
        limitRate(deps, "control"),
        requireScope(requires),
      ]),
      ...(changes ? [readForm(deps.bodyDeadlines, room), room.require] : []),
    ];
  }
  return { routes: pageTable(deps), guards, asPage };
}

/** Sends to the form for keys, and back to the page afterwards; what was sent by a form is lost. */
function askToSignIn(c: RequestContext): Response {
  const { pathname, search } = new URL(c.req.url);
  const next = c.req.method === "GET" ? pathname + search : DASHBOARD;
  return seeOther(`${SIGN_IN}?${new URLSearchParams({ next })}`);
}
