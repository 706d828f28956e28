/** Headers that answers may have. */
import type { RouteRule } from "../http/context.ts";

/** Describes a header: its meaning, an example, and its schema. */
function header(
  description: string,
  example: string | number,
  schema: object = { type: "string" },
) {
  return { description, schema, example };
}

/** All headers that answers may have. */
export const HEADERS = {
  "X-Request-Id": header("Names this request in the service's log.", "9f2c41d07ab3-17"),
  "RateLimit-Policy": header(
    "The team's request rate, in the form of the IETF draft: `q` requests fit its " +
      "bucket, which is full again after `w` seconds. Absent where there is no limit.",
    '"ingest";q=5000;w=3',
  ),
  "RateLimit": header(
    "What is left of it: `r` requests now, one more in `t` seconds.",
    '"ingest";r=4999;t=1',
  ),
  "Retry-After": header(
    "Seconds to wait. On every 503; on a 429 unless the team asks too much all the time.",
    2,
    { type: "integer", minimum: 1 },
  ),
  "Idempotent-Replayed": header(
    "`true`: this had been done before, and nothing changed. Else absent.",
    "true",
    { type: "string", const: "true" },
  ),
  "Runledger-Dropped": header(
    "Known fields whose values are not stored as sent, each with how many: labels that the " +
      "plan does not keep, values that could not be read, texts cut to their limit. Absent for none.",
    "metadata=3, goal=1",
    { type: "string", pattern: "^[a-z_]+=[0-9]+(, [a-z_]+=[0-9]+)*$" },
  ),
  "Runledger-Ignored": header(
    "Fields that the call does not know, of which nothing is stored: the first 20. Absent " +
      "for none.",
    "statuss",
  ),
  "Accept-Encoding": header("Codings that a body may be sent in.", "gzip", {
    type: "string",
    const: "gzip",
  }),
  "WWW-Authenticate": header("`Bearer`, on every 401.", "Bearer", {
    type: "string",
    const: "Bearer",
  }),
  "X-Run-Id": header(
    "The run's id, the one that was sent or a new one.",
    "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001",
    { type: "string", pattern: "^run_(eu|us)_[0-9a-f]{32}$" },
  ),
  "X-Error-Code": header("The code of the refusal.", "missing_field", {
    $ref: "#/components/schemas/ErrorCode",
  }),
  "Cache-Control": header("Whether and how long the answer may be kept.", "no-store"),
  "Content-Disposition": header(
    "A name to save the answer by.",
    'attachment; filename="runs-2026-11-21.csv"',
  ),
  "ETag": header("Names these very bytes, for `If-None-Match`.", '"3f0c9a51e2b84d7761aa02c4"'),
};

/** One of {@link HEADERS}. */
export type HeaderName = keyof typeof HEADERS;

/** References to headers. */
export function headerRefs(names: readonly HeaderName[]): Record<string, unknown> {
  return Object.fromEntries(
    names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

/** Returns references to the headers of a successful answer. */
export function answerHeaders(
  access: RouteRule["access"],
  own: readonly HeaderName[] = [],
): Record<string, unknown> {
  const rate: HeaderName[] = access === null ? [] : ["RateLimit-Policy", "RateLimit"];
  return headerRefs(["X-Request-Id", "Cache-Control", ...rate, ...own]);
}
