/**
 * Dispatches every request: runs its guards in order, then the handler, and writes the log line.
 *
 * One function rather than a middleware chain: the chain takes longer than the checks themselves
 * (`bench/README.md`).
 */
import type { Principal } from "../../domain/teams/credentials.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { Overloaded, type Problem, Refused, StorageUnavailable } from "../../domain/core/errors.ts";
import type { CountRequest } from "../../runtime/metrics.ts";
import { rawOf } from "../../domain/core/raw_json.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { fail, OVERLOADED } from "./answer.ts";
import {
  addressOf,
  type AppDeps,
  type Guard,
  type Handle,
  type RequestContext,
  type Route,
  runGuards,
} from "./context.ts";
import type { Admission } from "./admission.ts";
import { PacedResponses } from "./paced_streams.ts";
import { recordRefusal } from "./refusal_notes.ts";

/** Creates the function that serves a route; without a route it serves unknown paths and methods. */
type Dispatch = (
  route: Pick<Route, "method" | "path" | "servesUnderOverload"> | null,
  guards: readonly Guard[],
  handle: Handle,
) => (c: RequestContext) => Promise<Response>;

/** Original responses of handlers to `HEAD` requests. */
const headAnswers = new WeakMap<Request, Response>();

/**
 * Returns the response to a request. Hono removes the body of a response to `HEAD` before the runtime can
 * measure it, and the runtime then sends Content-Length 0. With the original response the runtime sends
 * the length, and leaves out the body itself.
 */
export async function withHeadAnswer(
  request: Request,
  response: Response | Promise<Response>,
): Promise<Response> {
  const answered = await response;
  return headAnswers.get(request) ?? answered;
}

/** Creates the dispatch function that all routes of an application share. */
export function createDispatch(deps: AppDeps, admission: Admission): Dispatch {
  // The prefix makes ids unique across restarts, the number within the process.
  const prefix = deps.environment.random(6).toHex();
  let requests = 0;
  const metrics = deps.metrics.requests;
  const pacedResponses = new PacedResponses(admission.answers);

  return (route, guards, handle) => {
    // Without a route the method is arbitrary client input, so it is not a metric label.
    const { method, path } = route ?? { method: "other", path: "other" };
    const name = route === null ? null : `${method} ${path}`;
    const count = metrics.route(method, path);
    const isAlwaysServed = route?.servesUnderOverload === true;
    return (c) => handleRequest(c, name, guards, handle, count, isAlwaysServed);
  };

  async function handleRequest(
    c: RequestContext,
    name: string | null,
    guards: readonly Guard[],
    handle: Handle,
    count: CountRequest,
    isAlwaysServed: boolean,
  ): Promise<Response> {
    const startedMs = performance.now();
    c.set("requestId", `${prefix}-${++requests}`);
    if (name !== null) c.set("route", name);
    metrics.inFlight++;
    let response: Response | null;
    let entered = false;
    let team = "";
    try {
      response = await runGuards(c, guards);
      // Requests without a team share one count.
      team = teamOf(c) ?? "";
      if (response === null && !isAlwaysServed && admission.requests.isTeamFull(team)) {
        response = await admission.refuse(c);
      }
      if (response === null) {
        entered = true;
        admission.requests.enter(team);
        response = await handle(c);
        if (c.get("isLong")) response = await pacedResponses.send(c, response);
      }
    } catch (error) {
      response = failure(deps, c, error);
    }
    if (entered) admission.requests.leave(team);
    c.get("bodyLease")?.[Symbol.dispose]();
    const tookMs = performance.now() - startedMs;
    metrics.inFlight--;
    const problem: Problem | undefined = c.get("problem");
    count(teamOf(c), response.status, tookMs / 1_000, problem?.code);
    if (problem !== undefined) recordRefusal(deps, c, response.status, problem);
    deps.log(logLine(c, response.status, deps.environment.now(), tookMs));
    if (c.req.method === "HEAD") headAnswers.set(c.req.raw, response);
    return response;
  }
}

/** Returns the team of a request; undefined before it is authenticated. */
function teamOf(c: RequestContext): TeamId | undefined {
  const principal: Principal | undefined = c.get("principal");
  return principal?.team.id;
}

/** Answers for a guard or handler that threw: its refusal, or the logged error, 503 for the store, 500 for anything else. */
function failure(deps: AppDeps, c: RequestContext, error: unknown): Response {
  if (error instanceof Refused) return fail(c, error.problem);
  // The client disconnected and its reads were cancelled: not a failure, and the response is not read.
  if (error === c.req.raw.signal.reason) return fail(c, OVERLOADED);
  logFailure(deps, c.get("requestId"), error);
  if (error instanceof Overloaded) return fail(c, OVERLOADED);
  return error instanceof StorageUnavailable
    ? fail(c, { code: "storage_unavailable", message: "The store did not confirm: retry" })
    : fail(c, { code: "internal_error", message: INTERNAL_ERROR });
}

const INTERNAL_ERROR = "Internal error: retry; if it persists, report it with the X-Request-Id";

/** Logs an error of a request with its stack. */
export function logFailure(
  { log, environment }: Pick<AppDeps, "log" | "environment">,
  requestId: string,
  error: unknown,
): void {
  const at = formatInstant(environment.now());
  const stack = error instanceof Error ? error.stack : String(error);
  log(JSON.stringify({ at, id: requestId, failure: stack }));
}

/**
 * Returns a request's log line as JSON, without bodies, credentials, ids from paths, or queries. A
 * refused credential has the client's address, so that a firewall can block who guesses.
 */
function logLine(c: RequestContext, status: number, nowMs: number, tookMs: number): string {
  const team = teamOf(c);
  const route: string | undefined = c.get("route");
  const problem: Problem | undefined = c.get("problem");
  const client = status === 401 ? addressOf(c) : null;
  const ms = Math.round(tookMs * 1000) / 1000;
  // The method is the only part that comes from the client, so the route is escaped.
  const routeJson = route === undefined ? null : rawOf(route);
  return `{"at":"${formatInstant(nowMs)}","id":"${c.get("requestId")}",` +
    `"team":${team === undefined ? null : `"${team}"`},"route":${routeJson},` +
    `"status":${status},"ms":${ms}${problem === undefined ? "" : `,"error":"${problem.code}"`}` +
    `${client === null ? "" : `,"client":${rawOf(client)}`}}`;
}
