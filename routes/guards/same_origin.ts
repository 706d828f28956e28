/** Whether a request that changes something comes from a page of this service (decisions, section 2). */
import { fail } from "../answer.ts";
import type { RequestContext } from "../context.ts";

const FORBIDDEN = {
  code: "forbidden",
  message:
    "This form was not sent by a page of this service: open the page again and send it there",
} as const;

/**
 * Refuses what another site's page sends along with the reader's cookie. Browsers say with each form
 * where it comes from; who says nothing is no browser, and has no business with forms.
 */
export function requireSameOrigin(c: RequestContext): Response | null {
  const { headers } = c.req.raw;
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") return fail(c, FORBIDDEN);
  const origin = headers.get("origin");
  const isOurs = origin === null ? site !== null : hostOf(origin) === headers.get("host");
  return isOurs ? null : fail(c, FORBIDDEN);
}

function hostOf(origin: string): string | null {
  return URL.parse(origin)?.host ?? null;
}
