/** Where people reach this service, for lines to copy. */
import type { RequestContext } from "../../context.ts";

/** Hosts that browsers trust without TLS. */
const LOOPBACK = /^(localhost|127\.[0-9.]+|\[::1\])$/;

/**
 * The origin of the pages as the browser sees it. A session's cookie only goes along with HTTPS, or on
 * the loopback address: elsewhere there is TLS in front of the service, which sees none of it.
 */
export function originOf(c: RequestContext): string {
  const { protocol, hostname, host } = new URL(c.req.url);
  return `${LOOPBACK.test(hostname) ? protocol : "https:"}//${host}`;
}
