/**
 * Dispatches every request: its guards in order, the handler, the line in the log.
 *
 * One function rather than a chain of middleware: a chain takes longer than checking the request does
 * (`docs/PERFORMANCE.md`).
 */
import type { Principal } from "../../domain/teams/credentials.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { Overloaded, type Problem, StorageUnavailable } from "../../domain/core/errors.ts";
import type { CountRequest } from "../../domain/metrics/requests.ts";
import { rawOf } from "../../domain/core/raw_json.ts";
import { formatInstant } from "../../domain/core/time.ts";
import { fail } from "./answer.ts";
import type { AppDeps, Guard, Handle, RequestContext, Route } from "./context.ts";
import type { HeadAnswers } from "./head.ts";
import { type Admission, OVERLOADED } from "./admission.ts";
import { LongAnswers } from "./long_answers.ts";
import { recordRefusal } from "./refusal_notes.ts";

/** Makes the function that serves a route; `null` for paths and methods without a route. */
type Dispatch = (
  route: Pick<Route, "method" | "path"> | null,
  guards: readonly Guard[],
  handle: Handle,
) => (c: RequestContext) => Promise<Response>;

/** Creates the dispatch that all routes of an application share. */
export function createDispatch(
  deps: AppDeps,
  admission: Admission,
  heads: HeadAnswers,
): Dispatch {
  // Unique across restarts by the prefix, within the process by the number.
  const prefix = deps.environment.random(6).toHex();
  let requests = 0;
  const metrics = deps.metrics.requests;
  const longAnswers = new LongAnswers(admission.answers);

  return (route, guards, handle) => {
    // The method of what no route takes is the client's word.
    const { method, path } = route ?? { method: "other", path: "other" };
    const name = route === null ? null : `${method} ${path}`;
    const count = metrics.route(method, path);
    return (c) => handleRequest(c, name, guards, handle, count);
  };

  async function handleRequest(
    c: RequestContext,
    name: string | null,
    guards: readonly Guard[],
    handle: Handle,
    count: CountRequest,
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
      // Those without a team share one count.
      team = teamOf(c) ?? "";
      if (response === null && admission.requests.isTeamFull(team)) response = fail(c, OVERLOADED);
      if (response === null) {
        entered = true;
        admission.requests.enter(team);
        response = await handle(c);
        if (c.get("isLong")) response = await longAnswers.send(c, response);
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
    heads.keep(c, response);
    return response;
  }
}

/** Returns the team of a request; undefined while its credential is not known. */
function teamOf(c: RequestContext): TeamId | undefined {
  const principal: Principal | undefined = c.get("principal");
  return principal?.team.id;
}

/** Runs the guards in order, from the one at `start` on; the first refusal is the answer. */
function runGuards(
  c: RequestContext,
  guards: readonly Guard[],
  start = 0,
): Response | null | Promise<Response | null> {
  for (let next = start; next < guards.length; next++) {
    const verdict = guards[next]?.(c) ?? null;
    if (verdict === null) continue;
    if (!(verdict instanceof Promise)) return verdict;
    return verdict.then((refusal) => refusal ?? runGuards(c, guards, next + 1));
  }
  return null;
}

/** Answers for a handler that threw, and logs the error: a failed store is 503, anything else 500. */
function failure(deps: AppDeps, c: RequestContext, error: unknown): Response {
  // Its reads were cancelled because the client left: no one reads the answer, and nothing is wrong.
  if (error === c.req.raw.signal.reason) return fail(c, OVERLOADED);
  logFailure(deps, c.get("requestId"), error);
  if (error instanceof Overloaded) return fail(c, OVERLOADED);
  return error instanceof StorageUnavailable
    ? fail(c, { code: "storage_unavailable", message: "The store did not confirm: retry" })
    : fail(c, { code: "internal_error", message: INTERNAL_ERROR });
}

const INTERNAL_ERROR = "Internal error: retry; if it persists, report it with the X-Request-Id";

/** Logs what went wrong with a request, and where. */
export function logFailure(
  { log, environment }: Pick<AppDeps, "log" | "environment">,
  requestId: string,
  error: unknown,
): void {
  const at = formatInstant(environment.now());
  const stack = error instanceof Error ? error.stack : String(error);
  log(JSON.stringify({ at, id: requestId, failure: stack }));
}

/** One JSON line a request: never a body, a credential, an id from a path, or a query. */
function logLine(c: RequestContext, status: number, nowMs: number, tookMs: number): string {
  const team = teamOf(c);
  const route: string | undefined = c.get("route");
  const problem: Problem | undefined = c.get("problem");
  const ms = Math.round(tookMs * 1000) / 1000;
  // A method is the one word here that is not our own.
  const routeJson = route === undefined ? null : rawOf(route);
  return `{"at":"${formatInstant(nowMs)}","id":"${c.get("requestId")}",` +
    `"team":${team === undefined ? null : `"${team}"`},"route":${routeJson},` +
    `"status":${status},"ms":${ms}${problem === undefined ? "" : `,"error":"${problem.code}"`}}`;
}
