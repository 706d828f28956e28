/**
 * The application: the table of routes, and the order in which a request is checked
 * (decisions, section 2): host, route, shutting down, credential, body, then the handler.
 */
import { Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import type { Requirement, Scope } from "../domain/credentials.ts";
import { fail } from "./answer.ts";
import type { AppDeps, Facts, Guard, Handle, Route } from "./context.ts";
import { appendEvents } from "./events.ts";
import { finishRun } from "./finish.ts";
import { healthz, readyz, SHUTTING_DOWN } from "./health.ts";
import { sendHeartbeat } from "./heartbeats.ts";
import { createKey, listKeys, revokeKey } from "./keys.ts";
import { readJsonBody } from "./guards/body.ts";
import { requireCredential } from "./guards/credential.ts";
import { requireHost } from "./guards/host.ts";
import { ping } from "./ping.ts";
import { createPipeline } from "./pipeline.ts";
import { deleteRate, listRates, matchRate, putRate } from "./rate_card.ts";
import { getRunCost } from "./run_cost.ts";
import { getReprice, listReprices, startReprice } from "./reprice.ts";
import { getRun, openRun } from "./runs.ts";
import { getSpend, getUnpriced } from "./spend.ts";

/** Every route, with what it asks of a credential. */
export function routeTable(deps: AppDeps): Route[] {
  return [
    { method: "POST", path: "/v1/runs", requires: key("ingest"), handler: openRun(deps) },
    { method: "GET", path: "/v1/runs/:id", requires: key("read"), handler: getRun(deps) },
    { method: "GET", path: "/v1/runs/:id/cost", requires: key("read"), handler: getRunCost(deps) },
    {
      method: "POST",
      path: "/v1/runs/:id/events",
      requires: key("ingest"),
      handler: appendEvents(deps),
    },
    {
      method: "POST",
      path: "/v1/runs/:id/finish",
      requires: key("ingest"),
      handler: finishRun(deps),
    },
    {
      method: "POST",
      path: "/v1/heartbeats",
      requires: KEY_OR_TOKEN,
      handler: sendHeartbeat(deps),
    },
    { method: "GET", path: "/v1/ping", requires: KEY_OR_TOKEN, handler: ping(deps) },
    { method: "POST", path: "/v1/keys", requires: key("admin"), handler: createKey(deps) },
    { method: "GET", path: "/v1/keys", requires: key("admin"), handler: listKeys(deps) },
    { method: "DELETE", path: "/v1/keys/:id", requires: key("admin"), handler: revokeKey(deps) },
    { method: "GET", path: "/v1/rate-card", requires: key("admin"), handler: listRates(deps) },
    { method: "PUT", path: "/v1/rate-card", requires: key("admin"), handler: putRate(deps) },
    {
      method: "GET",
      path: "/v1/rate-card/match",
      requires: key("admin"),
      handler: matchRate(deps),
    },
    {
      method: "DELETE",
      path: "/v1/rate-card/:id",
      requires: key("admin"),
      handler: deleteRate(deps),
    },
    {
      method: "POST",
      path: "/v1/rate-card/reprice",
      requires: key("admin"),
      handler: startReprice(deps),
    },
    {
      method: "GET",
      path: "/v1/rate-card/reprice",
      requires: key("admin"),
      handler: listReprices(deps),
    },
    {
      method: "GET",
      path: "/v1/rate-card/reprice/:id",
      requires: key("admin"),
      handler: getReprice(deps),
    },
    { method: "GET", path: "/v1/spend", requires: key("read"), handler: getSpend(deps) },
    {
      method: "GET",
      path: "/v1/spend/unpriced",
      requires: key("read"),
      handler: getUnpriced(deps),
    },
    { method: "GET", path: "/healthz", requires: null, handler: healthz() },
    { method: "GET", path: "/readyz", requires: null, handler: readyz(deps) },
  ];
}

/** Builds the application. It opens nothing and keeps no state of its own. */
export function createApp(deps: AppDeps): Hono<Facts> {
  const app = new Hono<Facts>();
  const pipeline = createPipeline(deps);
  const table = routeTable(deps);
  for (const route of table) {
    const name = `${route.method} ${route.path}`;
    app.on(route.method, [route.path], pipeline(name, guards(deps, route), route.handler));
  }
  app.notFound(pipeline(null, [requireHost], refuseUnknown(table)));
  return app;
}

const KEY_OR_TOKEN: Requirement = { scope: "ingest", pingTokens: true };

function key(scope: Scope): Requirement {
  return { scope, pingTokens: false };
}

/** What a route's requests must pass, in the order of decision 2. */
function guards(deps: AppDeps, { method, requires }: Route): Guard[] {
  const whileServing: Guard = (c) => deps.draining() ? fail(c, SHUTTING_DOWN) : null;
  return [
    requireHost,
    ...(requires === null ? [] : [whileServing, requireCredential(deps, requires)]),
    ...(method === "POST" || method === "PUT" ? [readJsonBody(deps.bodyDeadlines)] : []),
  ];
}

function allowedMethods(table: readonly Route[], path: string): string {
  const methods = table.filter((route) => route.path === path).map(({ method }) => method);
  return [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
}

/**
 * Answers what no route takes: an unknown path with 404, a known path's other methods with 405, and
 * `OPTIONS` with what there is.
 */
function refuseUnknown(table: readonly Route[]): Handle {
  const paths = new TrieRouter<string>();
  for (const path of new Set(table.map((route) => route.path))) paths.add("ANY", path, path);
  return (c) => {
    const path = paths.match("ANY", c.req.path)[0][0]?.[0];
    if (path === undefined) {
      return fail(c, { code: "not_found", message: "No such path: see the API's docs" });
    }
    const { method } = c.req;
    c.set("route", `${method} ${path}`);
    const allow = allowedMethods(table, path);
    if (method === "OPTIONS") {
      const headers = { "Allow": allow, "X-Request-Id": c.get("requestId") };
      return new Response(null, { status: 204, headers });
    }
    const message = `${method} is not for this path: use ${allow}`;
    return fail(c, { code: "method_not_allowed", message }, { "Allow": allow });
  };
}
