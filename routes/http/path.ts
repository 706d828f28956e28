/** The path that a request is routed by, and what may be in it. */
import { getPath } from "hono/utils/url";
import { fail } from "./answer.ts";
import type { Guard } from "./context.ts";
import { isEncoded } from "./query.ts";

/**
 * Hono's path, but for a target that names a host and no path, such as `http://x?/v1/runs`: Hono would
 * find one in its query or its fragment.
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
 * What refuses paths that are not percent-encoded UTF-8. A run's id is judged as a whole: such a text is
 * refused as one that is no id.
 *
 * @param path the route's
 */
export function requirePath(path: string): Guard[] {
  const name = /:(\w+)/.exec(path)?.[1];
  if (name === undefined || path.startsWith("/v1/runs/")) return [];
  const message = `The path must have a "${name}" that is percent-encoded UTF-8`;
  const problem = { code: "invalid_field", message, field: name } as const;
  return [(c) => isEncoded(c) ? null : fail(c, problem)];
}
