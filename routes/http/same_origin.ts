/** Protects state-changing requests against cross-site forgery (decisions, section 2). */
import { fail } from "./answer.ts";
import type { RequestContext } from "./context.ts";

const FORBIDDEN = {
  code: "forbidden",
  message:
    "This form was not sent by a page of this service: open the page again and send it there",
} as const;

/**
 * Refuses forms that another site's page submits with the user's cookie. Browsers report the origin of a
 * form in `Sec-Fetch-Site`, which no page can set. Older browsers send `Origin`, which must match the
 * host. A request with neither header does not come from a browser, and is refused.
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
