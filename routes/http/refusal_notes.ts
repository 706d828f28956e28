/** Records refused calls, and ignored parameters of accepted ones, so that their team finds them (R13). */
import { OPERATOR, type Principal } from "../../domain/teams/credentials.ts";
import { type Problem, unlessRefused } from "../../domain/core/errors.ts";
import { IGNORED_PARAMETER, type RefusalCode } from "../../domain/refusals/refusals.ts";
import { parseQuery } from "../../domain/core/query.ts";
import { isAgent } from "../../domain/core/rules.ts";
import { printable } from "../../domain/core/text.ts";
import { REFUSAL_CHARS_MAX } from "../../domain/core/limits.ts";
import { PING_PATH } from "./answer.ts";
import type { AppDeps, RequestContext } from "./context.ts";
import { queryOf } from "./query.ts";

/** Status of a read that finds nothing, which is not recorded. */
const NOT_FOUND = 404;

/** Problem of a refused call, or a parameter that an accepted call had in vain (R24). */
type Noted = Omit<Problem, "code"> & { readonly code: RefusalCode };

/** Codes of accepted calls that are noted too. */
const NOTED: ReadonlySet<RefusalCode> = new Set([IGNORED_PARAMETER, "guard_blocked"]);

/** Records a refused API call, or an accepted one with an ignored parameter, if its team is known. */
export function recordRefusal(
  { refusals, environment }: Pick<AppDeps, "refusals" | "environment">,
  c: RequestContext,
  status: number,
  problem: Noted,
): void {
  const principal: Principal | undefined = c.get("principal");
  if (principal === undefined || principal.grant.kind === OPERATOR.grant.kind) return;
  const isRead = c.req.method === "GET" || c.req.method === "HEAD";
  const isRefused = status >= 400 && status < 500 && !(status === NOT_FOUND && isRead);
  if (!isRefused && !NOTED.has(problem.code)) return;
  const route: string | undefined = c.get("route");
  // Pages show their own refusals.
  if (route === undefined || !c.req.path.startsWith("/v1/")) return;
  refusals.note(principal.team.id, {
    at: environment.now(),
    code: problem.code,
    field: problem.field === undefined ? null : textOf(problem.field, REFUSAL_CHARS_MAX.field),
    agent: agentOf(c, principal),
    userAgent: userAgentOf(c),
    message: textOf(problem.message, REFUSAL_CHARS_MAX.message),
    requestId: c.get("requestId"),
    route,
  });
}

/** Returns the agent that the credential, the body or the ping's query names, or null. */
function agentOf(c: RequestContext, { grant }: Principal): string | null {
  if (grant.kind === "ping_token") return grant.agent;
  const body: { readonly value?: Readonly<Record<string, unknown>> } | undefined = c.get("body");
  const agent = c.req.path === PING_PATH ? agentOfPing(c) : body?.value?.agent;
  return isAgent(agent) ? agent : null;
}

function agentOfPing(c: RequestContext): string | undefined {
  return unlessRefused(() => parseQuery(queryOf(c)).get("agent"), () => undefined);
}

function userAgentOf(c: RequestContext): string | null {
  const header = c.req.raw.headers.get("user-agent");
  return header === null || header === "" ? null : textOf(header, REFUSAL_CHARS_MAX.userAgent);
}

/** Truncates a text and puts it on one line. */
function textOf(text: string, charsMax: number): string {
  return printable(text.slice(0, charsMax));
}
