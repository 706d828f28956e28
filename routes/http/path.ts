/** The path that a request is routed by, and its validation. */
import { getPath } from "hono/utils/url";
import { fail } from "./answer.ts";
import type { Guard } from "./context.ts";
import { isEncoded } from "./query.ts";

/**
 * Returns Hono's path, or `/` for a target with a host but no path, such as `http://x?/v1/runs`: Hono
 * would find a path in its query or fragment.
 */
export function pathOf(request: Request): string {
  const { url } = request;
  const authority = url.indexOf("://") + 3;
  const slash = url.indexOf("/", authority);
  const isBefore = (mark: number) => mark >= 0 && (slash < 0 || mark < slash);
  return isBefore(url.indexOf("?", authority)) || isBefore(url.indexOf("#", authority))
    ? "/"
    : getPath(request);
}

/**
 * Returns guards that refuse paths that are not percent-encoded UTF-8. Routes of runs need none: their
 * ids are validated, and such a text is no valid id.
 *
 * @param path pattern of the route
 */
export function requirePath(path: string): Guard[] {
  const name = /:(\w+)/.exec(path)?.[1];
  if (name === undefined || path.startsWith("/v1/runs/")) return [];
  const message = `The path must have a "${name}" that is percent-encoded UTF-8`;
  const problem = { code: "invalid_field", message, field: name } as const;
  return [(c) => isEncoded(c) ? null : fail(c, problem)];
}
