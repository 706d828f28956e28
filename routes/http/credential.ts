/** Who is asking, and whether they may (decisions 1 to 3). */
import {
  INVALID_CREDENTIAL,
  parseSecret,
  type Principal,
  refusalOf,
  type Requirement,
  suspensionOf,
} from "../../domain/teams/credentials.ts";
import { keyInQuery } from "../../domain/ingest/ping.ts";
import { ERRORS } from "../../domain/core/errors.ts";
import { fail, PING_PATH } from "./answer.ts";
import type { AppDeps, Guard, RequestContext } from "./context.ts";
import { queryOf } from "./query.ts";
import { networkOfRequest } from "./address.ts";

/** Lets a request through when its credential works and is of a kind that the route takes. */
export function requireCredential(
  { region, credentials }: Pick<AppDeps, "region" | "credentials">,
  requirement: Requirement,
): Guard {
  function admit(c: RequestContext, principal: Principal | null): Response | null {
    if (principal === null) return fail(c, INVALID_CREDENTIAL);
    c.set("principal", principal);
    const refused = refusalOf(principal, requirement);
    return refused !== null && ERRORS[refused.code].status === 401 ? fail(c, refused) : null;
  }

  return (c) => {
    const secret = parseSecret(secretOf(c), region);
    if (!secret.ok) return fail(c, secret.problem);
    const found = credentials.find(secret.value, () => networkOfRequest(c));
    // Known credentials are answered from memory, and then nothing needs to be awaited.
    if (found !== null && !(found instanceof Promise)) return admit(c, found);
    return atFixedTime(found).then((principal) => admit(c, principal));
  };
}

/** Whether the credential of a request that was let in still works, for answers that go on for long. */
export function isStillLive(
  { region, credentials }: Pick<AppDeps, "region" | "credentials">,
  c: RequestContext,
): () => Promise<boolean> {
  const secret = parseSecret(secretOf(c), region);
  return async () => {
    if (!secret.ok) return false;
    const principal = await credentials.find(secret.value, () => networkOfRequest(c));
    return principal !== null && suspensionOf(principal) === null;
  };
}

/** Milliseconds after which a credential that is looked for in vain is refused: far more than it takes. */
export const REFUSED_AFTER_MS = 5;

/**
 * Waits for a credential. That there is none is known at a fixed time, so that it does not tell a
 * revoked one, which takes longer to find, from one that never was.
 */
export async function atFixedTime(
  found: Promise<Principal | null> | null,
): Promise<Principal | null> {
  const { promise: due, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, REFUSED_AFTER_MS);
  try {
    const principal = await found;
    if (principal === null) await due;
    return principal;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Lets a request through when its team is served and its key has the scope that the route needs. Asked
 * after the rate: a 403 is the answer to an authenticated request, which spends a token.
 */
export function requireScope(requirement: Requirement): Guard {
  return (c) => {
    const principal = c.get("principal");
    const refused = suspensionOf(principal) ?? refusalOf(principal, requirement);
    return refused === null ? null : fail(c, refused);
  };
}

/** The credential as text: `Authorization` first, then the alias header, on ping also `?key=`. */
function secretOf(c: RequestContext): string | null {
  const authorization = c.req.raw.headers.get("authorization");
  if (authorization !== null) return secretOfAuthorization(authorization);
  const alias = c.req.raw.headers.get("x-agentping-key");
  if (alias !== null) return alias.trim();
  return c.req.path === PING_PATH && !isFromForeignPage(c) ? keyInQuery(queryOf(c)) : null;
}

/** Tells whether a page of another site asks: a link or an image of any page can carry a known key. */
function isFromForeignPage(c: RequestContext): boolean {
  return /^(cross|same)-site$/i.test(c.req.raw.headers.get("sec-fetch-site") ?? "");
}

/** How nearly every client writes it; anything else is taken apart. */
const BEARER = "Bearer ";

/** Bearer, or Basic with the credential as user name, which is what `curl -u "$TOKEN:"` sends. */
function secretOfAuthorization(header: string): string | null {
  if (header.startsWith(BEARER) && !header.includes(" ", BEARER.length)) {
    return header.slice(BEARER.length);
  }
  const [scheme = "", value = "", ...more] = header.trim().split(/ +/);
  if (more.length > 0) return null;
  switch (scheme.toLowerCase()) {
    case "bearer":
      return value;
    case "basic":
      return userOf(value);
    default:
      return null;
  }
}

function userOf(basic: string): string | null {
  try {
    return atob(basic).split(":")[0] ?? null;
  } catch {
    return null;
  }
}
