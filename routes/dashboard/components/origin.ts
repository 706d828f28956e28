/** The origin of this service as its clients reach it, for lines to copy. */
import type { RequestContext } from "../../http/context.ts";

/** Hosts that browsers trust without TLS. */
const LOOPBACK = /^(localhost|127\.[0-9.]+|\[::1\])$/;

/**
 * Returns the origin as the browser sees it. A session's cookie is sent with HTTPS only, or to the
 * loopback address: elsewhere a proxy ends TLS, and the service does not see it.
 */
export function originOf(c: RequestContext): string {
  const { protocol, hostname, host } = new URL(c.req.url);
  return `${LOOPBACK.test(hostname) ? protocol : "https:"}//${host}`;
}
