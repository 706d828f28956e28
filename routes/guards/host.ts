/** The Host header, checked before it can matter (decisions, section 2). */
import { fail } from "../answer.ts";
import type { RequestContext } from "../context.ts";

const NAME_OR_IPV4 = /^[A-Za-z0-9._-]{1,253}(:\d{1,5})?$/;
const IPV6 = /^\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?$/;

/**
 * Refuses a Host that is no host and port. The runtime builds the request's URL from it, so that
 * `Host: x/admin?y=` would otherwise choose the route.
 */
export function requireHost(c: RequestContext): Response | null {
  const sent = c.req.raw.headers.get("host") ?? "";
  if (NAME_OR_IPV4.test(sent) || IPV6.test(sent)) return null;
  const message = 'The header "Host" must be a host name and an optional port';
  return fail(c, { code: "invalid_field", message, field: "host" });
}
