/** Where this service is, as whoever asks reaches it: for lines that people copy. */
import type { RequestContext } from "../../context.ts";

/** The origin in front of paths. Forms say it themselves, also where something in front ends TLS. */
export function originOf(c: RequestContext): string {
  const sent = c.req.raw.headers.get("origin");
  return URL.parse(sent ?? c.req.url)?.origin ?? "";
}
