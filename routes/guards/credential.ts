/** Who is asking, and whether they may (decisions 1 to 3). */
import {
  INVALID_CREDENTIAL,
  parseSecret,
  type Principal,
  refusalOf,
  type Requirement,
} from "../../domain/credentials.ts";
import { keyOf } from "../../domain/input/ping.ts";
import { fail, PING_PATH } from "../answer.ts";
import type { AppDeps, Guard, RequestContext } from "../context.ts";
import { queryOf } from "../query.ts";

/** Lets a request through when its credential meets the route's requirement. */
export function requireCredential(
  { region, credentials }: AppDeps,
  requirement: Requirement,
): Guard {
  function admit(c: RequestContext, principal: Principal | null): Response | null {
    if (principal === null) return fail(c, INVALID_CREDENTIAL);
    c.set("principal", principal);
    const refused = refusalOf(principal, requirement);
    return refused === null ? null : fail(c, refused);
  }

  return (c) => {
    const secret = parseSecret(secretOf(c), region);
    if (!secret.ok) return fail(c, secret.problem);
    const found = credentials.find(secret.value);
    // Known credentials are answered from memory, and then nothing needs to be awaited.
    return found instanceof Promise
      ? found.then((principal) => admit(c, principal))
      : admit(c, found);
  };
}

/** The credential as text: `Authorization` first, then the alias header, on ping also `?key=`. */
function secretOf(c: RequestContext): string | null {
  const authorization = c.req.raw.headers.get("authorization");
  if (authorization !== null) return secretOfAuthorization(authorization);
  const alias = c.req.raw.headers.get("x-agentping-key");
  if (alias !== null) return alias.trim();
  return c.req.path === PING_PATH ? keyOf(queryOf(c)) : null;
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
