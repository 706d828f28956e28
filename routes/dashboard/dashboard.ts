/** The dashboard: its pages, and what a request for one must pass. */
import { answerText, fail } from "../answer.ts";
import type { AppDeps, Guard, RequestContext, Route } from "../context.ts";
import { createExports } from "../exports.ts";
import { readForm } from "../guards/body.ts";
import { requireScope } from "../guards/credential.ts";
import { requireHost } from "../guards/host.ts";
import { limitRate } from "../guards/rate.ts";
import type { Room } from "../guards/room.ts";
import { requireSameOrigin } from "../guards/same_origin.ts";
import { requireSession } from "../guards/session.ts";
import { Waiting } from "../guards/waiting.ts";
import { SHUTTING_DOWN } from "../health.ts";
import { DASHBOARD, SIGN_IN } from "./frame/paths.ts";
import { tellAsPage } from "./frame/problem.tsx";
import { seeOther } from "./frame/reply.tsx";
import { pageTable, type Shared } from "./pages.ts";
import { showAgent } from "./agents/agent.tsx";
import { changeAgent } from "./agents/form.tsx";
import { showAgents } from "./agents/list.tsx";
import { AGENTS } from "./agents/paths.ts";
import { backToKey, makeKey, revokeKey, rotateKey } from "./keys/change.tsx";
import { showNewKey } from "./keys/form.tsx";
import { showKeys } from "./keys/list.tsx";
import { KEYS } from "./keys/paths.ts";
import { showOverview } from "./overview.tsx";
import { backToTeam, changeTeam, makeTeamKey, serveTeam } from "./teams/change.tsx";
import { makeTeam, showNewTeam } from "./teams/create.tsx";
import { showTeams } from "./teams/list.tsx";
import { showTeam } from "./teams/one.tsx";
import { showOwnTeam } from "./teams/own.tsx";
import { TEAM, TEAMS } from "./teams/paths.ts";
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
    page("GET", AGENTS, key("read"), showAgents(deps)),
    page("GET", `${AGENTS}/:slug`, key("read"), showAgent(deps)),
    page("POST", `${AGENTS}/:slug`, key("admin"), changeAgent(deps)),
    page("GET", KEYS, key("admin"), showKeys(deps)),
    page("POST", KEYS, key("admin"), makeKey(deps)),
    page("GET", `${KEYS}/new`, key("admin"), showNewKey),
    page("POST", `${KEYS}/:id/rotate`, key("admin"), rotateKey(deps)),
    page("GET", `${KEYS}/:id/rotate`, key("admin"), backToKey),
    page("POST", `${KEYS}/:id/revoke`, key("admin"), revokeKey(deps)),
    page("GET", TEAM, key("read"), showOwnTeam(deps)),
    page("GET", `${DASHBOARD}/audit`, keyOrOperator("admin"), showAudit(deps)),
    page("GET", TEAMS, OPERATOR_ONLY, showTeams(deps)),
    page("POST", TEAMS, OPERATOR_ONLY, makeTeam(deps)),
    page("GET", `${TEAMS}/new`, OPERATOR_ONLY, showNewTeam),
    page("GET", `${TEAMS}/:id`, OPERATOR_ONLY, showTeam(deps)),
    page("POST", `${TEAMS}/:id`, OPERATOR_ONLY, changeTeam(deps)),
    page("POST", `${TEAMS}/:id/suspend`, OPERATOR_ONLY, serveTeam(deps, true)),
    page("POST", `${TEAMS}/:id/resume`, OPERATOR_ONLY, serveTeam(deps, false)),
    page("POST", `${TEAMS}/:id/keys`, OPERATOR_ONLY, makeTeamKey(deps)),
    page("GET", `${TEAMS}/:id/keys`, OPERATOR_ONLY, backToTeam),
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
export function createDashboard(
  deps: AppDeps,
  room: Room,
  shared: Shared = { waiting: new Waiting(room, deps.leaving), exported: createExports(deps) },
): Dashboard {
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
  return { routes: pageTable(deps, shared), guards, asPage };
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
  const next = c.req.method === "GET" ? pathname + search : DASHBOARD;
  return seeOther(`${SIGN_IN}?${new URLSearchParams({ next })}`);
}
