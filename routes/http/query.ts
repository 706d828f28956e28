/** The raw path and query of a request: Hono would decode them leniently. */
import type { RequestContext } from "./context.ts";

/** Returns the text after the question mark, or the empty text. */
export function queryOf(c: RequestContext): string {
  const { url } = c.req;
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}

/**
 * Returns the name in a path, percent-decoded; null when it cannot be decoded. In each path with a name
 * the name is the third segment, such as the slug of `/v1/agents/:slug/monitor`.
 */
export function nameInPath(c: RequestContext): string | null {
  const [, , , , , name = ""] = pathOf(c).split("/");
  return decoded(name);
}

/** Returns the id in a path; null for a text that is no id with the prefix. */
export function idInPath(c: RequestContext, prefix: "inc" | "whd"): string | null {
  const id = c.req.param("id") ?? "";
  return /^\w{3}_[a-z]{2}_[0-9a-f]{32}$/.test(id) && id.startsWith(`${prefix}_`) ? id : null;
}

/** Returns whether the path is percent-encoded UTF-8. */
export function isEncoded(c: RequestContext): boolean {
  return decoded(pathOf(c)) !== null;
}

/** Returns the URL without its query. */
function pathOf(c: RequestContext): string {
  return c.req.url.split("?", 1)[0] ?? "";
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
