/** Sessions of the dashboard: a cookie instead of a key. */
import { parse, serialize } from "hono/utils/cookie";
import { SESSION } from "../../domain/core/limits.ts";
import { suspensionOf } from "../../domain/teams/credentials.ts";
import type { Authenticate } from "./authorize.ts";
import type { AppDeps, RequestContext } from "./context.ts";
import { networkOfRequest } from "./address.ts";

/**
 * Its name binds it to this host and to encrypted connections; browsers count the loopback address as one.
 */
const COOKIE = "__Host-runledger";

/** Returns the session's token as sent; null without one. */
export function tokenOf(c: RequestContext): string | null {
  const sent = c.req.raw.headers.get("cookie");
  return sent === null ? null : parse(sent, COOKIE)[COOKIE] ?? null;
}

/** Writes the header that sets the cookie to a token; null deletes it. */
export function cookieOf(token: string | null): string {
  return serialize(COOKIE, token ?? "", {
    path: "/",
    secure: true,
    httpOnly: true,
    sameSite: "Lax",
    maxAge: token === null ? 0 : SESSION.maxMs / 1_000,
  });
}

/** Checks that the session of a request still works, for answers that take long. */
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
 * Finds who signed in.
 *
 * @param refuse answers a request without a session, or with one that has expired
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
