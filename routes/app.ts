/**
 * The application: mounts the endpoints and pages, and orders the guards of a request (decisions, section
 * 2): host, route, shutting down, overload, credential, rate, scope, query names, body, handler.
 */
import { Hono } from "hono";
import type { Router } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { TrieRouter } from "hono/router/trie-router";
import type { z } from "zod";
import { nearestName } from "../domain/core/query.ts";
import { unknownField } from "../domain/core/validate.ts";
import { ENDPOINTS } from "./api/endpoints.ts";
import { SHUTTING_DOWN } from "./api/service/service.ts";
import { createDashboard } from "./dashboard/dashboard.ts";
import { DASHBOARD_PATH } from "./dashboard/layout/paths.ts";
import { Admission, type HandlerDeps } from "./http/admission.ts";
import { answerText, fail } from "./http/answer.ts";
import { authorize } from "./http/access.ts";
import { readJsonBody } from "./http/body.ts";
import { compressed } from "./http/compress.ts";
import type { AppDeps, Env, Guard, Handle, RequestContext, RouteRule } from "./http/context.ts";
import { credentialAuth } from "./http/credential.ts";
import { createDispatch, withHeadAnswer } from "./http/dispatch.ts";
import { TRACES } from "./otlp/description.ts";
import { createOtlp } from "./otlp/otlp.ts";
import { pathOf, requireHost, requirePath, requireQuery } from "./http/target.ts";
import { debitBytes, limitBytes, limitRate, metered } from "./http/rate.ts";
import type { Endpoint } from "./openapi/describe.ts";

/** Builds the application. It opens nothing and keeps no state of its own. */
export function createApp(deps: AppDeps): Hono<Env> {
  const app = new Hono<Env>({ getPath: pathOf, router: createRouter() });
  const admission = new Admission(deps);
  const dispatch = createDispatch(deps, admission);
  const handlerDeps: HandlerDeps = { ...deps, admission, openapiText };
  const dashboard = createDashboard(handlerDeps);
  const mount = (route: RouteRule, guards: readonly Guard[], handler: Handle) => {
    const served = isCompressed(route) ? compressed(handler) : handler;
    app.on(route.method, [route.path], dispatch(route, guards, served));
  };
  for (const endpoint of ENDPOINTS) {
    const handle: Handle = (c) => endpoint.handler(c, handlerDeps, c.get("principal"));
    const served = isControl(endpoint) ? metered(deps, handle) : handle;
    mount(endpoint, guardsOf(deps, admission, endpoint), served);
  }
  for (const route of dashboard.routes) mount(route, dashboard.guards(route), route.handler);
  const otlp = createOtlp(handlerDeps);
  for (const route of otlp.routes) mount(route, otlp.guards, route.handler);
  const notFound = refuseUnknown([...ENDPOINTS, ...otlp.routes, ...dashboard.routes]);
  app.notFound(
    dispatch(null, [requireHost(deps), dashboard.asPage, dashboard.recognize], notFound),
  );
  const { fetch } = app;
  app.fetch = (request, ...rest) => {
    const response = fetch(request, ...rest);
    return request.method === "HEAD" ? withHeadAnswer(request, response) : response;
  };
  return app;
}

/**
 * Creates the router: one expression finds an endpoint in a quarter of the time of a tree, but cannot
 * tell `new` from a name, as some pages need.
 */
function createRouter<Handler>(): Router<Handler> {
  const [endpoints, pages] = [new RegExpRouter<Handler>(), new TrieRouter<Handler>()];
  const routerOf = (path: string) => path.startsWith(DASHBOARD_PATH) ? pages : endpoints;
  return {
    name: "by path",
    add: (method, path, handler) => routerOf(path).add(method, path, handler),
    match: (method, path) => routerOf(path).match(method, path),
  };
}

/** Writes the OpenAPI document. It is loaded at the first request for it, since most processes never need it. */
async function openapiText(): Promise<string> {
  const { documentText } = await import("./openapi/document.ts");
  return documentText([...ENDPOINTS, TRACES]);
}

/** Returns whether an endpoint belongs to the control API rather than to ingest. */
function isControl({ access }: RouteRule): boolean {
  return access !== null && access.scope !== "ingest";
}

/**
 * Returns whether the responses of a route are compressed: those of reads that need a credential. Static
 * responses are compressed once (`static_response.ts`). Responses to ingest calls have a few hundred
 * bytes, and compressing them takes as long as the rest of the call (`bench/README.md`), so the
 * runtime's own compression is off.
 */
function isCompressed(route: RouteRule): boolean {
  return route.method === "GET" && isControl(route);
}

/** Returns the guards of an endpoint, in the order of decision 2. */
function guardsOf(deps: AppDeps, admission: Admission, endpoint: Endpoint): Guard[] {
  const { path, access, body, mayLackBody, mayBeList, mayLackHost, servesUnderOverload } = endpoint;
  const queryNames = queryNamesOf(endpoint);
  const whileServing: Guard = (c) => deps.draining() ? fail(c, SHUTTING_DOWN) : null;
  const api = endpoint.bucket ?? (isControl(endpoint) ? "control" : "ingest");
  const hasBody = body !== undefined;
  const shape = endpoint.bodyShape ?? (api === "ingest" ? "fields" : "whole");
  const onRead = api === "ingest"
    ? (c: RequestContext, bytes: number) => debitBytes(deps, c, bytes)
    : undefined;
  const rates = [limitRate(deps, api), ...(hasBody && api === "ingest" ? [limitBytes(deps)] : [])];
  return [
    requireHost(deps, mayLackHost),
    ...(access === null ? [] : [
      whileServing,
      ...(servesUnderOverload ? [] : [admission.require]),
      authorize(access, credentialAuth(deps), rates),
    ]),
    ...(queryNames === null ? [] : [requireQuery(queryNames)]),
    ...(hasBody
      // Overload is checked again: requests whose bodies arrived earlier may have taken the slots.
      ? [
        readJsonBody(deps.bodyDeadlines, admission, { shape, mayLackBody, mayBeList }, onRead),
        ...(servesUnderOverload ? [] : [admission.require]),
      ]
      : []),
    ...(hasBody && api === "control" ? [requireFields(body)] : []),
    ...requirePath(path),
  ];
}

/** Refuses bodies with fields that the endpoint does not have (R25). */
function requireFields(body: z.ZodType): Guard {
  return (c) => {
    const problem = unknownField(body, c.get("body").value);
    return problem === null ? null : fail(c, problem);
  };
}

/**
 * Returns the query parameters of an endpoint, or null for one that ignores unknown parameters: ingest
 * calls, and those outside the API, where monitoring tools may add parameters.
 */
export function queryNamesOf(endpoint: Endpoint): readonly string[] | null {
  const { bucket, path, query = {} } = endpoint;
  // A misspelt name would allow what is blocked.
  const isStrict = isControl(endpoint) || bucket === "guard";
  return path.startsWith("/v1/") && isStrict ? Object.keys(query) : null;
}

function allowedMethods(table: readonly RouteRule[], paths: readonly string[]): string {
  const methods = new Set(
    paths.flatMap((path) => table.filter((route) => route.path === path))
      .map(({ method }) => method),
  );
  return [...methods, ...(methods.has("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
}

/** Returns a function that says what may have been meant by an unknown path. */
function createHints(known: readonly string[]): (path: string) => string {
  const all = known.filter((path) => !path.startsWith("/dashboard")).map((path) => path.split("/"));
  return (path) => {
    const plain = path.replace(/\/+$/, "");
    const parts = plain.split("/");
    const isSent = (part: string, i: number) => part === parts[i] || part.startsWith(":");
    const isMeant = (part: string, i: number) =>
      isSent(part, i) || nearestName(parts[i] ?? "", [part]) !== null;
    const alike = all.filter((each) => each.length === parts.length && each.every(isMeant));
    if (plain !== path && alike.some((each) => each.every(isSent))) {
      return "leave out the slash at its end";
    }
    const nearest = alike[0]?.join("/").replace(/:(\w+)/g, "{$1}");
    return `${nearest === undefined ? "" : `did you mean ${nearest}? `}/docs lists all calls`;
  };
}

/** Prepares the search for a path, which takes as long as mounting half of the routes. */
function pathsOf(table: readonly RouteRule[]) {
  const paths = new TrieRouter<string>();
  // A literal segment is added before a parameter at the same position, such as `match` before an id.
  const all = [...new Set(table.map(({ path }) => path))];
  const words = all.filter((path) => !path.includes(":"));
  for (const path of new Set([...words, ...all])) paths.add("ANY", path, path);
  return { paths, hintFor: createHints(all) };
}

/**
 * Answers requests without a route: 404 for an unknown path, 405 for an unsupported method of a known
 * path, and the allowed methods for `OPTIONS`.
 */
function refuseUnknown(table: readonly RouteRule[]): Handle {
  let known: ReturnType<typeof pathsOf> | null = null;
  return (c) => {
    const { paths, hintFor } = known ??= pathsOf(table);
    const matched = paths.match("ANY", c.req.path)[0].map(([path]) => path);
    const [path] = matched;
    if (path === undefined) {
      const message = c.get("renderProblem") === undefined
        ? `No such path: ${hintFor(c.req.path)}`
        : "No such page: check the address";
      return fail(c, { code: "not_found", message });
    }
    const { method } = c.req;
    c.set("route", `${method} ${path}`);
    const allow = allowedMethods(table, matched);
    if (method === "OPTIONS") {
      return answerText(c, 204, null, null, { "Allow": allow });
    }
    const message = `${method} is not supported on this path: use ${allow}`;
    return fail(c, { code: "method_not_allowed", message }, { "Allow": allow });
  };
}
