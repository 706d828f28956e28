/** Pages of the dashboard: their tables, and how a handler responds: a page, an error or a redirect. */
import { ERRORS, type Problem } from "../../../domain/core/errors.ts";
import type { Requirement } from "../../../domain/teams/credentials.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { HandlerDeps } from "../../http/admission.ts";
import { mayAdmin } from "../../http/access.ts";
import { answerText } from "../../http/answer.ts";
import type { AppDeps, Handle, MenuEntry, Refuse, RequestContext } from "../../http/context.ts";
import { Layout, type View } from "./layout.tsx";
import { DASHBOARD_PATH, ownPage } from "./paths.ts";
import { storePreferences } from "./preferences.ts";

export type { View };

/** A request for a page, with its dependencies and its caller. */
export type Visit = ReturnType<typeof visitOf>;

/** The part of a visit that loaders take. */
export interface Reader {
  readonly deps: AppDeps;
  readonly team: Team;
}

/** Returns what the handler of a page takes; public pages do not use the caller. */
export function visitOf(c: RequestContext, deps: HandlerDeps) {
  const principal = c.get("principal");
  const { team, credentialId } = principal ?? {};
  const isAdmin = principal && mayAdmin(principal);
  /** Shows the form as typed for every error of the request, with the reason. */
  const onProblem = (view: (problem: Problem) => View) =>
    c.set(
      "renderProblem",
      (c, problem, headers) => showPage(c, { ...view(problem), problem }, headers),
    );
  return { c, deps, principal, team, credentialId, isAdmin, onProblem };
}

/** Answers a request for a page: with the page to show, or with another response. */
export type PageHandler = (visit: Visit) => Answer | Promise<Answer>;

type Answer = View | Response;

/** Returns the response of a page's handler. */
export async function answerVisit(visit: Visit, handle: PageHandler): Promise<Response> {
  const answer = await handle(visit);
  return answer instanceof Response ? answer : showPage(visit.c, answer);
}

/** A page, as its folder exports it to the table of pages. */
export interface DashboardPage {
  readonly path: string;
  /** Menu entry, with its access if that is stricter; absent for a page that other pages link to. */
  readonly menu?: Pick<MenuEntry, "name" | "area"> & Partial<MenuEntry>;
  /** Requirement for a session; `null` for public pages. */
  readonly access: Requirement | null;
  readonly handler: PageHandler;
  /** Forms of the page, and pages that only it links to. */
  readonly routes?: readonly PageRoute[];
}

/** A form of a page, or a page below it. */
export interface PageRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Requirement for a session, if it differs from the page's. */
  readonly access?: Requirement | undefined;
  readonly handler: PageHandler;
}

/** A page below another one; by default with its access. */
export function get(path: string, handler: PageHandler, access?: Requirement): PageRoute {
  return { method: "GET", path, handler, access };
}

/** A form of a page; by default with the page's access. */
export function post(path: string, handler: PageHandler, access?: Requirement): PageRoute {
  return { method: "POST", path, handler, access };
}

const HEADERS = {
  // Pages load files from this origin only, and icons of the style sheet; forms go to it only.
  "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src " +
    "'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  // No cache stores a user's page, and the back button shows none after sign-out.
  "Cache-Control": "no-store",
};

/** Responds with a page. */
export function showPage(c: RequestContext, view: View, headers: Record<string, string> = {}) {
  const { status = 200, problem = null } = view;
  const text = `<!DOCTYPE html>${<Layout c={c} view={view} />}\n`;
  const actual = problem === null ? status : ERRORS[problem.code].status;
  return answerText(c, actual, text, "text/html; charset=UTF-8", { ...HEADERS, ...headers });
}

/** Renders an error as a page, with the status that the API would return. */
export const renderProblemPage: Refuse = (c, { code, message }, headers) => {
  const { status, retry } = ERRORS[code];
  return showPage(c, {
    title: status === 404 ? "Not found" : "That did not work",
    status,
    body: (
      <section class="empty">
        <p>{message}.</p>
        <p>
          {retry && <a class="btn" href="">Try again</a>}{" "}
          <a class="btn" href={DASHBOARD_PATH}>Go to the overview</a>
        </p>
        <p class="soft">
          <code>{code}</code> · request <code>{c.get("requestId")}</code>
        </p>
      </section>
    ),
  }, headers);
};

/** Redirects the browser to another page, which it requests with GET. */
export function seeOther(path: string): Response {
  const always = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };
  return new Response(null, { status: 303, headers: { ...always, "Location": path } });
}

/**
 * Stores the theme and the time zone of a browser in cookies, and redirects back to the page that has
 * the form: it is in every top bar.
 */
export const submitView: Handle = (c) => {
  const from = URL.parse(c.req.raw.headers.get("referer") ?? "");
  const response = seeOther(ownPage(from && from.pathname + from.search));
  storePreferences(response, c.get("form"));
  return response;
};
