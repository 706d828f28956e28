/** Response headers. */
import type { RouteRule } from "../http/context.ts";
import fixed from "./fixed_parts.json" with { type: "json" };

/** A response header. */
export type HeaderName = keyof typeof fixed.headers;

/** Returns references to headers. */
export function headerRefs(names: readonly HeaderName[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Returns references to the headers of a successful response. */
export function answerHeaders(
  access: RouteRule["access"],
  own: readonly HeaderName[] = [],
): Record<string, unknown> {
  const rate: HeaderName[] = access === null ? [] : ["RateLimit-Policy", "RateLimit"];
  return headerRefs(["X-Request-Id", "Cache-Control", ...rate, ...own]);
}
