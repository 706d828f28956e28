/**
 * The application: the table of routes, and the order in which a request is checked
 * (decisions, section 2): host, route, shutting down, too busy, credential, rate, scope, names of the
 * query, body, the handler.
 */
import { Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import type { Requirement } from "../domain/teams/credentials.ts";
import { answerText, fail } from "./http/answer.ts";
import type { AppDeps, Env, Guard, Handle, RequestContext, Route } from "./http/context.ts";
import { getAgent, handleListAgents, patchAgent } from "./api/agents/agents.ts";
import { compressed, isCompressed } from "./http/compress.ts";
import { listAudit } from "./api/audit_log/audit_log.ts";
import { listChanges } from "./api/feed/changes.ts";
import { deleteCustomer, getDeletion, handleDeleteRun } from "./api/deletions/deletions.ts";
import { appendEvents } from "./api/runs/events.ts";
import { createExports } from "./api/exports/exports.ts";
import { finishRun } from "./api/runs/finish.ts";
import { HeadAnswers } from "./http/head.ts";
import { healthz, readyz, SHUTTING_DOWN } from "./api/service/health.ts";
import { sendHeartbeat } from "./api/heartbeats/heartbeats.ts";
import { createDashboard } from "./dashboard/dashboard.ts";
import { describeApi, showDocs } from "./api/service/openapi.ts";
import { createKey, handleRevokeKey, handleRotateKey, listKeys } from "./api/keys/keys.ts";
import { readJsonBody } from "./http/body.ts";
import { requireCredential, requireScope } from "./http/credential.ts";
import { requireHost } from "./http/host.ts";
import { queryNamesOf, requireQuery } from "./http/query_names.ts";
import { debitBytes, limitBytes, limitRate, metered } from "./http/rate.ts";
import type { BodyShape } from "../domain/ingest/parse.ts";
import { Memory } from "../domain/core/memory.ts";
import type { Api } from "../domain/teams/rate_limit.ts";
import { ConcurrencyLimit } from "./http/admission.ts";
import { LongPolls } from "./http/long_polls.ts";
import { followLive } from "./api/feed/live.ts";
import { getMetrics } from "./api/service/metrics.ts";
import { pathOf, requirePath } from "./http/path.ts";
import { ping } from "./api/heartbeats/ping.ts";
import { createDispatch } from "./http/dispatch.ts";
import { deleteRate, listRates, matchRate, putRate } from "./api/rate_card/rate_card.ts";
import { getRunCost } from "./api/runs/run_cost.ts";
import { KEY_OR_TOKEN, OPERATOR_ONLY, teamKey, teamKeyOrOperator } from "./http/access.ts";
import { listRefusals } from "./api/refusals/refusals.ts";
import { getReprice, listReprices, startReprice } from "./api/repricing/reprice.ts";
import { listRuns } from "./api/runs/run_list.ts";
import { getRun, openRun } from "./api/runs/runs.ts";
import { addScore } from "./api/runs/scores.ts";
import { getSpend, getUnpriced } from "./api/spend/spend.ts";
import {
  createTeamKey,
  getTeam,
  handleChangeTeam,
  handleCreateTeam,
  listTeams,
} from "./api/teams/teams.ts";
import { getUsage } from "./api/teams/usage.ts";
import { whenFinal } from "./api/runs/when_final.ts";

/** Every route, with what it asks of a credential. */
export function routeTable(
  deps: AppDeps,
  room = new ConcurrencyLimit(deps.memory ?? new Memory()),
  waiting = new LongPolls(room, deps.shuttingDown),
  exported = createExports(deps, room),
): Route[] {
  const table: Route[] = [
    route("POST", "/v1/runs", teamKey("ingest"), openRun(deps)),
    route("GET", "/v1/runs", teamKey("read"), listRuns(deps)),
    route("GET", "/v1/runs/:id", teamKey("read"), whenFinal(deps, waiting, getRun(deps))),
    route("DELETE", "/v1/runs/:id", teamKey("admin"), handleDeleteRun(deps)),
    route("GET", "/v1/runs/:id/cost", teamKey("read"), getRunCost(deps)),
    route("GET", "/v1/runs.ndjson", teamKey("read"), exported("ndjson")),
    route("GET", "/v1/runs.csv", teamKey("read"), exported("csv")),
    route("POST", EVENTS_PATH, teamKey("ingest"), appendEvents(deps)),
    route("POST", "/v1/runs/:id/finish", teamKey("ingest"), finishRun(deps)),
    route("POST", "/v1/runs/:id/scores", teamKey("ingest"), addScore(deps)),
    route("POST", "/v1/heartbeats", KEY_OR_TOKEN, sendHeartbeat(deps)),
    route("GET", "/v1/ping", KEY_OR_TOKEN, ping(deps)),
    route("POST", "/v1/keys", teamKey("admin"), createKey(deps)),
    route("GET", "/v1/keys", teamKey("admin"), listKeys(deps)),
    route("DELETE", "/v1/keys/:id", teamKey("admin"), handleRevokeKey(deps)),
    {
      ...route("POST", "/v1/keys/:id/rotate", teamKey("admin"), handleRotateKey(deps)),
      mayLackBody: true,
    },
    route("GET", "/v1/audit", teamKeyOrOperator("admin"), listAudit(deps)),
    route("POST", "/v1/teams", OPERATOR_ONLY, handleCreateTeam(deps)),
    route("GET", "/v1/teams", OPERATOR_ONLY, listTeams(deps)),
    route("GET", "/v1/teams/:id", OPERATOR_ONLY, getTeam(deps)),
    route("PATCH", "/v1/teams/:id", OPERATOR_ONLY, handleChangeTeam(deps)),
    route("POST", "/v1/teams/:id/keys", OPERATOR_ONLY, createTeamKey(deps)),
    route("GET", "/v1/rate-card", teamKey("admin"), listRates(deps)),
    route("PUT", "/v1/rate-card", teamKey("admin"), putRate(deps)),
    route("GET", "/v1/rate-card/match", teamKey("admin"), matchRate(deps)),
    route("POST", "/v1/rate-card/reprice", teamKey("admin"), startReprice(deps)),
    route("GET", "/v1/rate-card/reprice", teamKey("admin"), listReprices(deps)),
    route("GET", "/v1/rate-card/reprice/:id", teamKey("admin"), getReprice(deps)),
    route("DELETE", "/v1/rate-card/:id", teamKey("admin"), deleteRate(deps)),
    route("DELETE", "/v1/customers/:customer_id", teamKey("admin"), deleteCustomer(deps)),
    route("GET", "/v1/deletions/:id", teamKey("admin"), getDeletion(deps)),
    route("GET", "/v1/agents", teamKey("read"), handleListAgents(deps)),
    route("GET", "/v1/agents/:slug", teamKey("read"), getAgent(deps)),
    route("PATCH", "/v1/agents/:slug", teamKey("admin"), patchAgent(deps)),
    route("GET", "/v1/spend", teamKey("read"), getSpend(deps)),
    route("GET", "/v1/spend/unpriced", teamKey("read"), getUnpriced(deps)),
    route("GET", "/v1/usage", teamKey("read"), getUsage(deps)),
    route("GET", "/v1/refusals", teamKey("read"), listRefusals(deps)),
    route("GET", "/v1/changes", teamKey("read"), listChanges(deps, waiting)),
    route("GET", "/v1/live", teamKey("read"), followLive(deps, waiting)),
    route("GET", METRICS_PATH, teamKeyOrOperator("read"), getMetrics(deps)),
    route("GET", "/healthz", null, healthz()),
    route("GET", "/readyz", null, readyz(deps)),
    route("GET", "/openapi.json", null, describeApi(() => table)),
    route("GET", "/docs", null, showDocs(() => table)),
  ];
  return table;
}

/** Builds the application. It opens nothing and keeps no state of its own. */
export function createApp(deps: AppDeps): Hono<Env> {
  const app = new Hono<Env>({ getPath: pathOf });
  const room = new ConcurrencyLimit(deps.memory);
  const heads = new HeadAnswers();
  const pipeline = createDispatch(deps, room, heads);
  const waiting = new LongPolls(room, deps.shuttingDown, deps.memory);
  const exported = createExports(deps, room);
  const table = routeTable(deps, room, waiting, exported);
  const dashboard = createDashboard({ ...deps, longPolls: waiting, createExport: exported }, room);
  const mount = (route: Route, guards: readonly Guard[]) => {
    const handler = handlerOf(deps, route);
    app.on(route.method, [route.path], pipeline(route, guards, handler));
  };
  for (const route of table) mount(route, guards(deps, room, route));
  for (const route of dashboard.routes) mount(route, dashboard.guards(route));
  app.notFound(
    pipeline(
      null,
      [requireHost(deps), dashboard.asPage],
      refuseUnknown([...table, ...dashboard.routes]),
    ),
  );
  const { fetch } = app;
  app.fetch = (request, ...rest) => {
    const response = fetch(request, ...rest);
    return request.method === "HEAD" ? heads.replace(request, response) : response;
  };
  return app;
}

/** A route's handler with what all routes of its kind have in common. */
function handlerOf(deps: AppDeps, route: Route): Handle {
  const { access, handler } = route;
  const counted = isMetered(access) ? metered(deps, handler) : handler;
  return isCompressed(route) ? compressed(counted) : counted;
}

/** Returns whether a route's reads are debited: agents' calls read next to nothing. */
function isMetered(access: Requirement | null): boolean {
  return access !== null && access.scope !== "ingest";
}

/** What supervisors ask, some of them by HTTP/1.0, which has no Host. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** Where figures are read. */
const METRICS_PATH = "/metrics";

/** Where batches of events are sent. */
const EVENTS_PATH = "/v1/runs/:id/events";

function route(
  method: Route["method"],
  path: string,
  access: Requirement | null,
  handler: Handle,
): Route {
  return { method, path, access, handler };
}

const WITH_BODY: ReadonlySet<Route["method"]> = new Set(["POST", "PUT", "PATCH"]);

/** What a route's requests must pass, in the order of decision 2. */
function guards(deps: AppDeps, room: ConcurrencyLimit, route: Route): Guard[] {
  const { method, path, access, mayLackBody } = route;
  const queryNames = queryNamesOf(route);
  const whileServing: Guard = (c) => deps.draining() ? fail(c, SHUTTING_DOWN) : null;
  const api = isMetered(access) ? "control" : "ingest";
  const hasBody = WITH_BODY.has(method);
  const shape = shapeOf(path, api);
  const onRead = api === "control"
    ? undefined
    : (c: RequestContext, bytes: number) => debitBytes(deps, c, bytes);
  return [
    requireHost(deps, HEALTH_PATHS.has(path)),
    ...(access === null ? [] : [
      whileServing,
      // What is too much is to be seen while it is.
      ...(path === METRICS_PATH ? [] : [room.require]),
      requireCredential(deps, access),
      limitRate(deps, api),
      ...(hasBody && api === "ingest" ? [limitBytes(deps)] : []),
      requireScope(access),
    ]),
    ...(queryNames === null ? [] : [requireQuery(queryNames)]),
    ...(hasBody
      // Asked again: of many bodies that came at once, the first take the room.
      ? [readJsonBody(deps.bodyDeadlines, room, { shape, mayLackBody }, onRead), room.require]
      : []),
    ...requirePath(path),
  ];
}

/** Returns what the body of a path is; those of the control API are small. */
function shapeOf(path: string, api: Api): BodyShape {
  if (api === "control") return "whole";
  return path === EVENTS_PATH ? "events" : "fields";
}

function allowedMethods(table: readonly Route[], paths: readonly string[]): string {
  const methods = new Set(
    table.filter(({ path }) => paths.includes(path)).map(({ method }) => method),
  );
  return [...methods, ...(methods.has("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
}

/**
 * Answers what no route takes: an unknown path with 404, a known path's other methods with 405, and
 * `OPTIONS` with what there is.
 */
function refuseUnknown(table: readonly Route[]): Handle {
  const paths = new TrieRouter<string>();
  for (const path of new Set(table.map((route) => route.path))) paths.add("ANY", path, path);
  return (c) => {
    // More than one where a word and a parameter have the same place, such as `match` and an id.
    const matched = paths.match("ANY", c.req.path)[0].map(([path]) => path);
    const [path] = matched;
    if (path === undefined) {
      return fail(c, { code: "not_found", message: "No such path: see the API's docs" });
    }
    const { method } = c.req;
    c.set("route", `${method} ${path}`);
    const allow = allowedMethods(table, matched);
    if (method === "OPTIONS") {
      return answerText(c, 204, null, null, { "Allow": allow });
    }
    const message = `${method} is not for this path: use ${allow}`;
    return fail(c, { code: "method_not_allowed", message }, { "Allow": allow });
  };
}
