/** The Host header, checked before it can matter (decisions, section 2). */
import { isLoopback } from "../../domain/core/loopback.ts";
import { fail } from "./answer.ts";
import type { AppDeps, Guard } from "./context.ts";

const NAME_OR_IPV4 = /^[A-Za-z0-9._-]{1,253}(:\d{1,5})?$/;
const IPV6 = /^\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?$/;

/**
 * Refuses a Host that is no host and port. The runtime builds the request's URL from it, so that
 * `Host: x/admin?y=` would otherwise choose the route.
 *
 * With `dev` only a local name passes: a web page can point a name of its own at this machine, and
 * everybody knows the development key.
 *
 * @param mayBeAbsent whether a request without one passes, as HTTP/1.0 sends it and no page can
 */
export function requireHost({ dev }: Pick<AppDeps, "dev">, mayBeAbsent = false): Guard {
  return (c) => {
    const header = c.req.raw.headers.get("host");
    if (mayBeAbsent && header === null) return null;
    const sent = header ?? "";
    const isHost = NAME_OR_IPV4.test(sent) || IPV6.test(sent);
    if (isHost && (!dev || isLocal(sent))) return null;
    const message = isHost
      ? `With --dev the header "Host" must be localhost, 127.0.0.1 or [::1], and was ${sent}: ` +
        "use one of them, or start without --dev"
      : 'The header "Host" must be a host name and an optional port';
    return fail(c, { code: "invalid_field", message, field: "host" });
  };
}

function isLocal(host: string): boolean {
  const name = host.replace(/:\d+$/, "");
  return isLoopback(name.startsWith("[") ? name.slice(1, -1) : name);
}
