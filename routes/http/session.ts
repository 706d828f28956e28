/** The session of who looks at the dashboard: a cookie in place of a key. */
import { parse, serialize } from "hono/utils/cookie";
import { SESSION } from "../../domain/core/limits.ts";
import type { SessionStore } from "../../domain/teams/session.ts";
import { suspensionOf } from "../../domain/teams/credentials.ts";
import type { AppDeps, Guard, RequestContext } from "./context.ts";
import { networkOfRequest } from "./address.ts";

/**
 * Its name binds it to this host and to encrypted connections; browsers count the loopback address as one.
 */
const COOKIE = "__Host-runledger";

/** The session's token as sent; null without one. */
export function tokenOf(c: RequestContext): string | null {
  const sent = c.req.raw.headers.get("cookie");
  return sent === null ? null : parse(sent, COOKIE)[COOKIE] ?? null;
}

/** The header that hands a token to the browser; null takes it back. */
export function cookieOf(token: string | null): string {
  return serialize(COOKIE, token ?? "", {
    path: "/",
    secure: true,
    httpOnly: true,
    sameSite: "Lax",
    maxAge: token === null ? 0 : SESSION.maxMs / 1_000,
  });
}

/** Whether the session of a request still works, for answers that go on for long. */
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
 * Lets a request through as whoever signed in.
 *
 * @param refuse answers who did not, or not lately enough
 */
export function requireSession(
  { sessions }: { readonly sessions: SessionStore },
  refuse: (c: RequestContext) => Response,
): Guard {
  return async (c) => {
    const token = tokenOf(c);
    const principal = token === null ? null : await sessions.find(token, () => networkOfRequest(c));
    if (principal === null) return refuse(c);
    c.set("principal", principal);
    return null;
  };
}
