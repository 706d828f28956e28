/** Guards of the request target: host, path, query names, and the origin of forms. */
import type { AppDeps, Guard, RequestContext } from "./context.ts";
import { fail } from "./answer.ts";
import { isLoopback } from "../../domain/core/network.ts";
import { getPath } from "hono/utils/url";
import { isEncoded, queryOf } from "./query.ts";
import { queryProblem } from "../../domain/core/query.ts";

const NAME_OR_IPV4 = /^[A-Za-z0-9._-]{1,253}(:\d{1,5})?$/;

const IPV6 = /^\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?$/;

/**
 * Refuses a Host header that is not a host and an optional port. The runtime builds the request's URL
 * from it, so `Host: x/admin?y=` would otherwise select the route.
 *
 * With `dev` only local names pass: a web page can resolve its own name to this machine (DNS rebinding),
 * and the development key is public.
 *
 * @param mayBeAbsent admits requests without a Host, which HTTP/1.0 clients send and browsers cannot
 */
export function requireHost({ dev }: Pick<AppDeps, "dev">, mayBeAbsent = false): Guard {
  return (c) => {
    const header = c.req.raw.headers.get("host");
    if (mayBeAbsent && header === null) return null;
    const host = header ?? "";
    const isHost = NAME_OR_IPV4.test(host) || IPV6.test(host);
    if (isHost && (!dev || isLocal(host))) return null;
    const message = isHost
      ? `With --dev the header "Host" must be localhost, 127.0.0.1 or [::1], but was ${host}: ` +
        "use one of them, or start without --dev"
      : 'The header "Host" must be a host name and an optional port';
    return fail(c, { code: "invalid_field", message, field: "host" });
  };
}

function isLocal(host: string): boolean {
  const name = host.replace(/:\d+$/, "");
  return isLoopback(name.startsWith("[") ? name.slice(1, -1) : name);
}

const FORBIDDEN = {
  code: "forbidden",
  message:
    "This form was not sent by a page of this service: open the page again and send it there",
} as const;

/**
 * Refuses forms that another site's page submits with the user's cookie. Browsers report the origin of a
 * form in `Sec-Fetch-Site`, which no page can set. Older browsers send `Origin`, which must match the
 * host. A request with neither header does not come from a browser, and is refused.
 */
export function requireSameOrigin(c: RequestContext): Response | null {
  const { headers } = c.req.raw;
  const site = headers.get("sec-fetch-site");
  const isOurs = site === null
    ? hostOf(headers.get("origin")) === headers.get("host")
    : site === "same-origin";
  return isOurs ? null : fail(c, FORBIDDEN);
}

function hostOf(origin: string | null): string | undefined {
  return URL.parse(origin ?? "")?.host;
}

/**
 * Returns Hono's path, or `/` for a target with a host but no path, such as `http://x?/v1/runs`: Hono
 * would find a path in its query or fragment.
 */
export function pathOf(request: Request): string {
  const { url } = request;
  const authority = url.indexOf("://") + 3;
  const slash = url.indexOf("/", authority);
  const isBefore = (mark: number) => mark >= 0 && (slash < 0 || mark < slash);
  return isBefore(url.indexOf("?", authority)) || isBefore(url.indexOf("#", authority))
    ? "/"
    : getPath(request);
}

/**
 * Returns guards that refuse paths that are not percent-encoded UTF-8. Routes of runs need none: their
 * ids are validated, and such a text is no valid id.
 *
 * @param path pattern of the route
 */
export function requirePath(path: string): Guard[] {
  const name = /:(\w+)/.exec(path)?.[1];
  if (name === undefined || path.startsWith("/v1/runs/")) return [];
  const message = `The path must have a "${name}" that is percent-encoded UTF-8`;
  const problem = { code: "invalid_field", message, field: name } as const;
  return [(c) => isEncoded(c) ? null : fail(c, problem)];
}

/** Refuses unknown parameters, and parameters without a value. */
export function requireQuery(names: readonly string[]): Guard {
  return (c) => {
    const problem = queryProblem(queryOf(c), names);
    return problem === null ? null : fail(c, problem);
  };
}
