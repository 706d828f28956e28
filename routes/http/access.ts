/** Access requirements of routes, and the guard that enforces them (decisions 1 to 3). */
import {
  INVALID_CREDENTIAL,
  type Principal,
  refusalOf,
  type Requirement,
  type Scope,
  suspensionOf,
} from "../../domain/teams/credentials.ts";
import { type Guard, type RequestContext, runGuards } from "./context.ts";
import { fail } from "./answer.ts";
import { ERRORS } from "../../domain/core/errors.ts";

/** A team key or a ping token that may send runs. */
export const KEY_OR_TOKEN: Requirement = { scope: "ingest", pingTokens: true, operator: false };

/** Any credential of a team. */
export const ANY_OF_TEAM: Requirement = { scope: "any", pingTokens: true, operator: false };

/** The operator's key. */
export const OPERATOR_ONLY: Requirement = { scope: null, pingTokens: false, operator: true };

export function teamKey(scope: Scope): Requirement {
  return { scope, pingTokens: false, operator: false };
}

/** A team key with a scope, or the operator's. */
export function teamKeyOrOperator(scope: Scope): Requirement {
  return { scope, pingTokens: false, operator: true };
}

/** Returns whether a principal may change its team's settings, for pages that offer it. */
export function mayAdmin(principal: Principal): boolean {
  return refusalOf(principal, teamKey("admin")) === null;
}

/** Finds the principal of a request, or answers it. Cached principals are returned synchronously. */
export type Authenticate = (
  c: RequestContext,
) => Principal | null | Response | Promise<Principal | null | Response>;

/**
 * Admits a request if its credential is valid and of a kind that the route accepts (401), its team is
 * within its rate limits (429), the team is not suspended, and the key has the route's scope (403). The
 * request is authenticated by the time of a 403, so a 403 spends a token.
 *
 * @param limits guards of the team's rates
 */
export function authorize(
  access: Requirement,
  authenticate: Authenticate,
  limits: readonly Guard[],
): Guard {
  function admit(
    c: RequestContext,
    principal: Principal | null | Response,
  ): Response | null | Promise<Response | null> {
    if (principal === null) return fail(c, INVALID_CREDENTIAL);
    if (principal instanceof Response) return principal;
    c.set("principal", principal);
    const refusal = refusalOf(principal, access);
    if (refusal !== null && ERRORS[refusal.code].status === 401) return fail(c, refusal);
    const problem = suspensionOf(principal) ?? refusal;
    // Almost every request: no list is built for it.
    if (problem === null) return runGuards(c, limits);
    return runGuards(c, [...limits, () => fail(c, problem)]);
  }

  return (c) => {
    const principal = authenticate(c);
    // Cached credentials need no await.
    return principal instanceof Promise
      ? principal.then((resolved) => admit(c, resolved))
      : admit(c, principal);
  };
}
