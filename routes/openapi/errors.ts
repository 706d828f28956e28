/** Meanings of error codes, and the error responses of each endpoint. */
import { type ErrorCode, ERRORS } from "../../domain/core/errors.ts";
import type { Description } from "./describe.ts";
import { type HeaderName, headerRefs } from "./headers.ts";
import type { JsonSchema } from "./json_schema.ts";

/** Meaning of each code, and the client's next step. */
export const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  invalid_id: "An identifier does not match its pattern.",
  missing_field: "A required field is absent or null; the message names it.",
  invalid_field: "A field, a parameter or the Host header has the wrong type or is out of range.",
  invalid_json: "The body is not UTF-8, not JSON, or not a JSON object.",
  unknown_region: "An identifier's region is neither eu nor us.",
  batch_too_large: "The batch has too many events: split it into several batches.",
  egress_denied: "The service may not call this address; the message names the rule.",
  invalid_credential: "The credential is absent, malformed, unknown or revoked.",
  region_mismatch: "The credential belongs to the endpoint of another region.",
  scope_violation: "A ping token was used for another agent, or on a path that does not accept it.",
  forbidden:
    "The key lacks the scope, this operation does not accept it, or the team is suspended.",
  agent_cap_reached:
    "The team has reached a limit on agents, active or archived; existing agents are not affected.",
  score_cap_reached: "The run has reached the limit of added scores.",
  object_cap_reached: "The team has reached the limit of rules, channels, silences, checks, " +
    "budgets or pauses.",
  not_found: "The resource does not exist or belongs to another team; the response is the same.",
  method_not_allowed: "The path does not support this method; Allow lists the supported ones.",
  body_timeout: "The body took too long to arrive: send it again on a new connection.",
  credential_ended:
    "The credential was already replaced or revoked; after a rotation the message names its successor.",
  guard_blocked:
    "A pause or a budget blocks runs with these labels; the message says which and why.",
  version_conflict: "The object has another version than the one sent: read it, then decide.",
  id_conflict: "The id is already stored with different values, or its run was deleted.",
  payload_too_large: "The body, or a part of it, exceeds its size limit: send less.",
  unsupported_encoding: "Content-Encoding is neither gzip nor identity.",
  unsupported_media_type: "Content-Type is none that the path takes; the message names them.",
  rate_limit: "The team has exceeded a rate limit, or has too many calls or jobs in progress.",
  internal_error: "Internal error: retry; if it persists, report it with the X-Request-Id.",
  overloaded:
    "The server is overloaded and nothing was stored: retry after the delay in Retry-After.",
  storage_unavailable:
    "The store did not respond or did not confirm a write: retry to learn whether it was stored.",
  shutting_down: "This instance is shutting down: retry; another instance serves the request.",
};

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
