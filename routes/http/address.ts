/** The network address of a client, where the platform reports it. */
import { networkOf } from "../../domain/core/network.ts";
import type { RequestContext } from "./context.ts";

/** Returns the client's network; the empty text when the platform does not report an address. */
export function networkOfRequest(c: RequestContext): string {
  const remote: Deno.Addr | undefined = c.env?.remoteAddr;
  return remote !== undefined && "hostname" in remote ? networkOf(remote.hostname) : "";
}
