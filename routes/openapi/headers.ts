/** Headers that answers may have. */
import type { RouteRule } from "../http/context.ts";

/** Each with what it means, its type, and an example. */
export const HEADERS = {
  "X-Request-Id": {
    description: "Names this request in the service's log.",
    schema: { type: "string" },
    example: "9f2c41d07ab3-17",
  },
  "RateLimit-Policy": {
    description: "The team's request rate, in the form of the IETF draft: `q` requests fit its " +
      "bucket, which is full again after `w` seconds. Absent where there is no limit.",
    schema: { type: "string" },
    example: '"ingest";q=5000;w=3',
  },
  "RateLimit": {
    description: "What is left of it: `r` requests now, one more in `t` seconds.",
    schema: { type: "string" },
    example: '"ingest";r=4999;t=1',
  },
  "Retry-After": {
    description:
      "Seconds to wait. On every 503; on a 429 unless the team asks too much all the time.",
    schema: { type: "integer", minimum: 1 },
    example: 2,
  },
  "Idempotent-Replayed": {
    description: "`true`: this had been done before, and nothing changed. Else absent.",
    schema: { type: "string", const: "true" },
    example: "true",
  },
  "Runledger-Dropped": {
    description:
      "Known fields whose values are not stored as sent, each with how many: labels that the " +
      "plan does not keep, values that could not be read, texts cut to their limit. Absent for none.",
    schema: { type: "string", pattern: "^[a-z_]+=[0-9]+(, [a-z_]+=[0-9]+)*$" },
    example: "metadata=3, goal=1",
  },
  "Runledger-Ignored": {
    description:
      "Fields that the call does not know, of which nothing is stored: the first 20. Absent " +
      "for none.",
    schema: { type: "string" },
    example: "statuss",
  },
  "Accept-Encoding": {
    description: "Codings that a body may be sent in.",
    schema: { type: "string", const: "gzip" },
    example: "gzip",
  },
  "WWW-Authenticate": {
    description: "`Bearer`, on every 401.",
    schema: { type: "string", const: "Bearer" },
    example: "Bearer",
  },
  "X-Run-Id": {
    description: "The run's id, the one that was sent or a new one.",
    schema: { type: "string", pattern: "^run_(eu|us)_[0-9a-f]{32}$" },
    example: "run_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0001",
  },
  "X-Error-Code": {
    description: "The code of the refusal.",
    schema: { $ref: "#/components/schemas/ErrorCode" },
    example: "missing_field",
  },
  "Cache-Control": {
    description: "Whether and how long the answer may be kept.",
    schema: { type: "string" },
    example: "no-store",
  },
  "Content-Disposition": {
    description: "A name to save the answer by.",
    schema: { type: "string" },
    example: 'attachment; filename="runs-2026-11-21.csv"',
  },
  "ETag": {
    description: "Names these very bytes, for `If-None-Match`.",
    schema: { type: "string" },
    example: '"3f0c9a51e2b84d7761aa02c4"',
  },
} as const;

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
