/** The path that a request is routed by. */
import { getPath } from "hono/utils/url";

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
