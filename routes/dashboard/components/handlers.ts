/** Handlers of pages and their forms. */
import type { Problem } from "../../../domain/core/errors.ts";
import type { Requirement } from "../../../domain/teams/credentials.ts";
import type { Handler } from "../../http/admission.ts";
import type { RequestContext } from "../../http/context.ts";
import type { PageHandler, PageRoute, View } from "../layout/page.ts";
import { showPage } from "../layout/reply.tsx";

/** Builds the handler of a page from a function of the request. */
export function perRequest(handler: Handler): PageHandler {
  return (deps) => (c) => handler(c, deps);
}

/** A page below another one, with the same access. */
export function get(path: string, handler: Handler): PageRoute {
  return { method: "GET", path, handler: perRequest(handler) };
}

/** A form of a page; by default with the page's access. */
export function post(path: string, handler: Handler, access?: Requirement): PageRoute {
  const route = { method: "POST", path, handler: perRequest(handler) } as const;
  return access === undefined ? route : { ...route, access };
}

/** Shows the form as typed for every error of the request, with the reason. */
export function showFormOnProblem(c: RequestContext, view: (problem: Problem) => View): void {
  c.set(
    "renderProblem",
    (c, problem, headers) => showPage(c, { ...view(problem), problem }, headers),
  );
}
