/** The one way to authorize a request: 401, then 429, then 403 (decisions 1 to 3). */
import {
  INVALID_CREDENTIAL,
  type Principal,
  refusalOf,
  type Requirement,
  suspensionOf,
} from "../../domain/teams/credentials.ts";
import { ERRORS } from "../../domain/core/errors.ts";
import { fail } from "./answer.ts";
import type { Guard, RequestContext } from "./context.ts";

/** Finds who sends a request, or answers the request. Known principals are returned at once. */
export type Authenticate = (
  c: RequestContext,
) => Principal | null | Response | Promise<Principal | null | Response>;

/**
 * Lets a request through when its credential works and is of a kind that the route takes (401), when its
 * team is within its rates (429), and when the team is served and the key has the route's scope (403). A
 * 403 is the answer to an authenticated request, so it spends a token.
 *
 * @param limits guards of the team's rates
 */
export function authorize(
  access: Requirement,
  authenticate: Authenticate,
  limits: readonly ((c: RequestContext) => Response | null)[],
): Guard {
  function admit(c: RequestContext, principal: Principal | null | Response): Response | null {
    if (principal === null) return fail(c, INVALID_CREDENTIAL);
    if (principal instanceof Response) return principal;
    c.set("principal", principal);
    const refusal = refusalOf(principal, access);
    if (refusal !== null && ERRORS[refusal.code].status === 401) return fail(c, refusal);
    for (const limit of limits) {
      const refused = limit(c);
      if (refused !== null) return refused;
    }
    const problem = suspensionOf(principal) ?? refusal;
    return problem === null ? null : fail(c, problem);
  }

  return (c) => {
    const principal = authenticate(c);
    // Known credentials are answered from memory, and then nothing needs to be awaited.
    return principal instanceof Promise
      ? principal.then((found) => admit(c, found))
      : admit(c, principal);
  };
}
