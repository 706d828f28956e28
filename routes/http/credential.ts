/** Credentials and dashboard sessions of requests (decisions 1 to 3). */
import { parseSecret, type Principal, suspensionOf } from "../../domain/teams/credentials.ts";
import { keyInQuery } from "../../domain/ingest/ping.ts";
import { PING_PATH } from "./answer.ts";
import type { Authenticate } from "./access.ts";
import { addressOf, type AppDeps, type RequestContext } from "./context.ts";
import { queryOf } from "./query.ts";
import { getCookies, setCookie } from "@std/http";
import { SESSION } from "../../domain/core/limits.ts";
import { networkOf } from "../../domain/core/network.ts";

/**
 * Finds the principal of a request's credential.
 *
 * @param readSecret reads the credential; by default from where the API accepts it
 */
export function credentialAuth(
  { region, credentials }: Pick<AppDeps, "region" | "credentials">,
  readSecret: (c: RequestContext) => string | null = secretOf,
): Authenticate {
  return (c) => {
    const secret = parseSecret(readSecret(c), region);
    const principal = credentials.find(secret, () => clientOf(c, secret));
    return principal !== null && !(principal instanceof Promise)
      ? principal
      : atFixedTime(principal);
  };
}

/** Creates a check that a request's credential is still valid, for long-lived responses. */
export function isStillLive(
  { region, credentials }: Pick<AppDeps, "region" | "credentials">,
  c: RequestContext,
): () => Promise<boolean> {
  const secret = parseSecret(secretOf(c), region);
  return async () => {
    const principal = await credentials.find(secret, () => clientOf(c, secret));
    return principal !== null && suspensionOf(principal) === null;
  };
}

/** Milliseconds after which an unknown credential is refused: far longer than a lookup. */
export const REFUSED_AFTER_MS = 5;

/**
 * Waits for a credential lookup. Refusals take a fixed time: a revoked credential takes longer to find
 * than an unknown one, and the difference must not be measurable.
 */
export async function atFixedTime(
  lookup: Promise<Principal | null> | null,
): Promise<Principal | null> {
  const { promise: due, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, REFUSED_AFTER_MS);
  try {
    const principal = await lookup;
    if (principal === null) await due;
    return principal;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the credential from `Authorization`, else the alias header, else a ping's `?key=`. */
function secretOf(c: RequestContext): string | null {
  const authorization = c.req.raw.headers.get("authorization");
  if (authorization !== null) return secretOfAuthorization(authorization);
  const alias = c.req.raw.headers.get("x-agentping-key");
  if (alias !== null) return alias.trim();
  return c.req.path === PING_PATH && !isFromForeignPage(c) ? keyInQuery(queryOf(c)) : null;
}

/** Returns whether another site's page sent the request: any link or image can carry a known key. */
function isFromForeignPage(c: RequestContext): boolean {
  return /^(cross|same)-site$/i.test(c.req.raw.headers.get("sec-fetch-site") ?? "");
}

/** The prefix that nearly every client sends; any other header is parsed in full. */
const BEARER = "Bearer ";

/** Parses Bearer, or Basic with the credential as user name, as `curl -u "$TOKEN:"` sends it. */
function secretOfAuthorization(header: string): string | null {
  if (header.startsWith(BEARER) && !header.includes(" ", BEARER.length)) {
    return header.slice(BEARER.length);
  }
  const [scheme = "", value = "", ...more] = header.trim().split(/ +/);
  if (more.length > 0) return null;
  const kind = scheme.toLowerCase();
  if (kind === "bearer") return value;
  return kind === "basic" ? userOf(value) : null;
}

function userOf(basic: string): string | null {
  try {
    return atob(basic).split(":")[0] ?? null;
  } catch {
    return null;
  }
}

/**
 * The `__Host-` prefix binds the cookie to this host and to secure connections; browsers treat loopback
 * addresses as secure.
 */
const COOKIE = "__Host-runledger";

/** Returns the session token of a request; null without one. */
export function tokenOf(c: RequestContext): string | null {
  return getCookies(c.req.raw.headers)[COOKIE] ?? null;
}

/** Sets the cookie of a response to a token; null deletes the cookie. */
export function setToken({ headers }: Response, token: string | null): void {
  setCookie(headers, {
    name: COOKIE,
    value: token ?? "",
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
    const principal = token === null ? null : await sessions.find(token, () => clientOf(c, token));
    return principal ?? refuse(c);
  };
}

/** Digits of a secret that stand for its client where no address is known. */
const CLIENT_DIGITS = 2;

/**
 * Names the client of a request, for fair queues, by its network. Where the platform reports no
 * address, digits of the secret stand in, so that one client with unknown secrets does not delay
 * all others.
 */
export function clientOf(c: RequestContext, secret: string): string {
  const address = addressOf(c);
  return address === null ? secret.slice(-CLIENT_DIGITS) : networkOf(address);
}
