/** Dashboard sessions: a cookie instead of a key. */
import { parse, serialize } from "hono/utils/cookie";
import { SESSION } from "../../domain/core/limits.ts";
import { suspensionOf } from "../../domain/teams/credentials.ts";
import type { Authenticate } from "./authorize.ts";
import type { AppDeps, RequestContext } from "./context.ts";
import { networkOfRequest } from "./address.ts";

/**
 * The `__Host-` prefix binds the cookie to this host and to secure connections; browsers treat loopback
 * addresses as secure.
 */
const COOKIE = "__Host-runledger";

/** Returns the session token of a request; null without one. */
export function tokenOf(c: RequestContext): string | null {
  const header = c.req.raw.headers.get("cookie");
  return header === null ? null : parse(header, COOKIE)[COOKIE] ?? null;
}

/** Returns the header that sets the cookie to a token; null deletes the cookie. */
export function cookieOf(token: string | null): string {
  return serialize(COOKIE, token ?? "", {
    path: "/",
    secure: true,
    httpOnly: true,
    sameSite: "Lax",
    maxAge: token === null ? 0 : SESSION.maxMs / 1_000,
  });
}

/** Creates a check that a request's session is still valid, for long-lived responses. */
export function isSessionStillLive(
  { sessions }: Pick<AppDeps, "sessions">,
  c: RequestContext,
): () => Promise<boolean> {
  const token = tokenOf(c);
  return async () => {
    const principal = token === null ? null : await sessions.find(token);
    return principal !== null && suspensionOf(principal) === null;
  };
}

/**
 * Authenticates requests by their session.
 *
 * @param refuse answers a request whose session is missing or expired
 */
export function sessionAuth(
  { sessions }: Pick<AppDeps, "sessions">,
  refuse: (c: RequestContext) => Response,
): Authenticate {
  return async (c) => {
    const token = tokenOf(c);
    const principal = token === null ? null : await sessions.find(token, () => networkOfRequest(c));
    return principal ?? refuse(c);
  };
}
