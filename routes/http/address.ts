/** Where a request comes from, as far as the platform says. */
import { networkOf } from "../../domain/core/network.ts";
import type { RequestContext } from "./context.ts";

/** The network that a request comes from; one name for all where the platform does not say. */
export function networkOfRequest(c: RequestContext): string {
  const remote: Deno.Addr | undefined = c.env?.remoteAddr;
  return remote !== undefined && "hostname" in remote ? networkOf(remote.hostname) : "";
}
