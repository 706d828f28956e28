/** Where this service is, as whoever asks reaches it: for lines that people copy. */
import type { RequestContext } from "../../http/context.ts";

/** Hosts that browsers trust without TLS. */
const LOOPBACK = /^(localhost|127\.[0-9.]+|\[::1\])$/;

/**
 * The origin in front of paths, as the browser sees it. A session's cookie only goes along with HTTPS, or
 * on the loopback address: elsewhere something in front of the service ends TLS, which it sees none of.
 */
export function originOf(c: RequestContext): string {
  const { protocol, hostname, host } = new URL(c.req.url);
  return `${LOOPBACK.test(hostname) ? protocol : "https:"}//${host}`;
}
