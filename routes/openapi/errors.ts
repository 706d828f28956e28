/** Meanings of error codes, and the error responses of each endpoint. */
import { type ErrorCode, ERRORS } from "../../domain/core/errors.ts";
import type { Description } from "./describe.ts";
import fixed from "./fixed_parts.json" with { type: "json" };
import { type HeaderName, headerRefs } from "./headers.ts";
import type { JsonSchema } from "./json_schema.ts";

/** Meaning of each code, and the client's next step. */
export const MEANINGS: Readonly<Record<ErrorCode, string>> = fixed.meanings;

/** Errors that any route may return. */
const ALWAYS: readonly ErrorCode[] = ["invalid_field", "internal_error"];

/** Errors of the guards of routes with a credential. */
const WITH_CREDENTIAL: readonly ErrorCode[] = [
  "invalid_credential",
  "region_mismatch",
  "scope_violation",
  "forbidden",
  "rate_limit",
  "overloaded",
  "storage_unavailable",
  "shutting_down",
];

/** Errors of reading a body. */
const WITH_BODY: readonly ErrorCode[] = [
  "invalid_json",
  "body_timeout",
  "payload_too_large",
  "unsupported_encoding",
];

/** Groups the codes that a route can return by status, in the order of the table of codes. */
function errorsByStatus({ access, body, errors, errorsAs }: Description): Map<number, ErrorCode[]> {
  const possible = new Set([
    ...ALWAYS,
    ...(access === null ? [] : WITH_CREDENTIAL),
    ...(body === undefined ? [] : WITH_BODY),
    ...errors,
  ]);
  // Exporters repeat no 408: they get a late body as 503.
  if (errorsAs === "status") possible.delete("body_timeout");
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => possible.has(code));
  return Map.groupBy(codes, (code) => ERRORS[code].status);
}

/** Headers of errors with a status, in addition to those of every response. */
function errorHeaders(status: number): HeaderName[] {
  if (status === 401) return ["WWW-Authenticate"];
  if (status === 415) return ["Accept-Encoding"];
  return status === 429 || status === 503 ? ["Retry-After"] : [];
}

/**
 * Returns references to the error responses of an endpoint.
 *
 * @param refusals receives the referenced responses
 */
export function refusalsOf(endpoint: Description, refusals: Map<string, JsonSchema>): JsonSchema {
  const { access, errorsAs = "json" } = endpoint;
  const refs: Record<string, unknown> = {};
  for (const [status, codes] of errorsByStatus(endpoint)) {
    const kind = errorsAs !== "json" ? `${errorsAs}.` : access === null ? "open." : "";
    const name = `${kind}${codes.join(".")}`;
    refusals.set(name, refusalPart(status, codes, access, errorsAs));
    refs[status] = { $ref: `#/components/responses/${name}` };
  }
  return refs;
}

/** Describes an error response. All share one schema, so that clients have a single error type. */
function refusalPart(
  status: number,
  codes: readonly ErrorCode[],
  access: Description["access"],
  form: "json" | NonNullable<Description["errorsAs"]>,
): JsonSchema {
  const rateHeaders = access === null || status === 401 || status === 503
    ? []
    : ["RateLimit-Policy", "RateLimit"] as const;
  const names: HeaderName[] = [
    "X-Request-Id",
    "Cache-Control",
    ...rateHeaders,
    ...errorHeaders(status),
  ];
  const description = codes.map((code) => `\`${code}\`: ${MEANINGS[code]}`).join(" ");
  if (form === "status") {
    const schema = { $ref: "#/components/schemas/Status" };
    const binary = { type: "string", format: "binary" };
    const content = {
      "application/json": { schema },
      "application/x-protobuf": { schema: binary },
    };
    return { description, headers: headerRefs(names), content };
  }
  if (form === "text") {
    const schema = { type: "string", pattern: `^(${codes.join("|")}) .+\\n$` };
    const headers = headerRefs([...names, "X-Error-Code"]);
    return { description, headers, content: { "text/plain": { schema } } };
  }
  const schema = { $ref: "#/components/schemas/Error" };
  return { description, headers: headerRefs(names), content: { "application/json": { schema } } };
}
