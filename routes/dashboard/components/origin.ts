/** The service's origin as clients reach it, for command lines to copy. */
import type { RequestContext } from "../../http/context.ts";

/** Hosts that browsers trust without TLS. */
const LOOPBACK = /^(localhost|127\.[0-9.]+|\[::1\])$/;

/**
 * Returns the origin as the browser sees it. Browsers send a session cookie only over HTTPS or to
 * the loopback address, so elsewhere a proxy terminates TLS, which the service cannot see.
 */
export function originOf(c: RequestContext): string {
  const { protocol, hostname, host } = new URL(c.req.url);
  return `${LOOPBACK.test(hostname) ? protocol : "https:"}//${host}`;
}
