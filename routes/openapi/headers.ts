/** Response headers. */
import type { RouteRule } from "../http/context.ts";

/** Describes a header by its meaning, an example, and its schema. */
function header(
  description: string,
  example: string | number,
  schema: object = { type: "string" },
) {
  return { description, schema, example };
}

/** All response headers. */
export const HEADERS = {
  "X-Request-Id": header("Id of this request in the service's log.", "9f2c41d07ab3-17"),
  "RateLimit-Policy": header(
    "The team's request rate limit, as in the IETF draft: its bucket holds `q` requests " +
      "and refills within `w` seconds. Absent where there is no limit.",
    '"ingest";q=5000;w=3',
  ),
  "RateLimit": header(
    "The remaining quota of the policy: `r` requests now, one more in `t` seconds.",
    '"ingest";r=4999;t=1',
  ),
  "Retry-After": header(
    "Seconds to wait before a retry. On every 503; on a 429 unless the team constantly " +
      "exceeds its rate.",
    2,
    { type: "integer", minimum: 1 },
  ),
  "Idempotent-Replayed": header(
    "`true` if the operation was already done and nothing changed; otherwise absent.",
    "true",
    { type: "string", const: "true" },
  ),
  "Runledger-Dropped": header(
    "Known fields whose values are not stored as sent, each with a count: labels that the " +
      "plan does not keep, unreadable values, and texts cut to their limit. Absent if there are none.",
    "metadata=3, goal=1",
    { type: "string", pattern: "^[a-z_]+=[0-9]+(, [a-z_]+=[0-9]+)*$" },
  ),
  "Runledger-Ignored": header(
    "The first 10 unknown fields of the request, which are not stored. Absent if there are none.",
    "statuss",
  ),
  "Runledger-Guard": header(
    "Verdict of the team's pauses and budgets about the run (RFC 9651): `allow`, `warn` or `block`, " +
      "with the id of the worst one, and of a budget `spent`, `limit` and the `age` of the spend in " +
      "seconds. Absent without pauses and budgets, and while their spend is not known.",
    'warn;rule="grl_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0007";spent=164.2;limit=200;age=1',
    { type: "string", pattern: "^(allow|warn|block)(;[a-z]+=[^;]+)*$" },
  ),
  "Accept-Encoding": header("Content codings accepted for request bodies.", "gzip", {
    type: "string",
    pattern: "^gzip(, deflate)?$",
  }),
  "WWW-Authenticate": header("`Bearer`, on every 401.", "Bearer", {
    type: "string",
    const: "Bearer",
  }),
  "X-Run-Id": header(
    "The run's id, as sent or newly minted.",
    "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001",
    { type: "string", pattern: "^run_(eu|us)_[0-9a-f]{32}$" },
  ),
  "X-Error-Code": header("Code of the error.", "missing_field", {
    $ref: "#/components/schemas/ErrorCode",
  }),
  "Cache-Control": header("Whether and for how long the response may be cached.", "no-store"),
  "Content-Disposition": header(
    "Suggested file name.",
    'attachment; filename="runs-2026-11-21.csv"',
  ),
  "ETag": header("Tag of this version, for `If-None-Match`.", '"3f0c9a51e2b84d7761aa02c4"'),
};

/** One of {@link HEADERS}. */
export type HeaderName = keyof typeof HEADERS;

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
