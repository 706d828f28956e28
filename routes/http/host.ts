/** Validates the Host header before anything uses it (decisions, section 2). */
import { isLoopback } from "../../domain/core/loopback.ts";
import { fail } from "./answer.ts";
import type { AppDeps, Guard } from "./context.ts";

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
