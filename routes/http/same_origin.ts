/** Whether a request that changes something comes from a page of this service (decisions, section 2). */
import { fail } from "./answer.ts";
import type { RequestContext } from "./context.ts";

const FORBIDDEN = {
  code: "forbidden",
  message:
    "This form was not sent by a page of this service: open the page again and send it there",
} as const;

/**
 * Refuses what another site's page sends along with the reader's cookie. A browser says with each form
 * where it comes from, in a header that no page can set; an older one names the page's origin, which is
 * then held against the host. Who says nothing is no browser, and has no business with forms.
 */
export function requireSameOrigin(c: RequestContext): Response | null {
  const { headers } = c.req.raw;
  const site = headers.get("sec-fetch-site");
  const isOurs = site === null
    ? hostOf(headers.get("origin")) === headers.get("host")
    : site === "same-origin";
  return isOurs ? null : fail(c, FORBIDDEN);
}

function hostOf(origin: string | null): string | undefined {
  return URL.parse(origin ?? "")?.host;
}
