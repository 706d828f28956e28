/** The raw path and query of a request: Hono would decode them leniently. */
import type { RequestContext } from "./context.ts";

/** Returns the text after the question mark, or the empty text. */
export function queryOf(c: RequestContext): string {
  const { url } = c.req;
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}

/** Returns the last segment of the path, percent-decoded; null when it cannot be decoded. */
export function lastPartOf(c: RequestContext): string | null {
  const path = pathOf(c);
  return decoded(path.slice(path.lastIndexOf("/") + 1));
}

/** Returns whether the path is percent-encoded UTF-8. */
export function isEncoded(c: RequestContext): boolean {
  return decoded(pathOf(c)) !== null;
}

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
