/** Meanings of the error codes, and those that the guards of an endpoint answer with. */
import { type ErrorCode, ERRORS } from "../../domain/core/errors.ts";
import type { Endpoint } from "./describe.ts";
import { type HeaderName, headerRefs } from "./headers.ts";
import type { JsonSchema } from "./shared.ts";

/** What a code means, and what to do. */
export const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  invalid_id: "An identifier does not match its pattern.",
  missing_field: "A required field is absent or null; the message names it.",
  invalid_field: "A field, a parameter or the Host header has the wrong type or is out of bounds.",
  invalid_json: "The body is not UTF-8, not JSON, or not a JSON object.",
  unknown_region: "An identifier's region is neither eu nor us.",
  batch_too_large: "The batch has too many events: send several.",
  invalid_credential: "The credential is absent, malformed, unknown or revoked.",
  region_mismatch: "The credential belongs to the endpoint of another region.",
  scope_violation: "A ping token was used for another agent, or on a path that is not for it.",
  forbidden: "The key lacks the scope or is not for this call, or the team is suspended.",
  agent_cap_reached: "There is no room for another agent, in use or archived; the others go on.",
  score_cap_reached: "The run has as many added scores as there may be.",
  not_found: "There is no such thing, or it is another team's; the two answer alike.",
  method_not_allowed: "The path does not take this method; Allow lists those it takes.",
  body_timeout: "The body took too long to arrive: send it again on a new connection.",
  credential_ended:
    "The credential was replaced or revoked before; the message names its successor.",
  id_conflict: "The id stands for something else, or for a run that was deleted.",
  payload_too_large: "The body, or a part of it, is over its limit: send less.",
  unsupported_encoding: "Content-Encoding is neither gzip nor identity.",
  rate_limit: "The team's request rate is used up.",
  internal_error: "Internal error: retry; if it persists, report it with the X-Request-Id.",
  overloaded: "The server is overloaded and nothing was stored: retry after Retry-After.",
  storage_unavailable: "The store did not confirm; a retry settles whether it was stored.",
  shutting_down: "This instance is shutting down: another one takes the retry.",
};

/** Refusals that any route may give. */
const ALWAYS: readonly ErrorCode[] = ["invalid_field", "internal_error"];

/** Refusals on the way to a handler that needs a credential. */
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

/** Refusals of a body before the handler sees it. */
const WITH_BODY: readonly ErrorCode[] = [
  "invalid_json",
  "body_timeout",
  "payload_too_large",
  "unsupported_encoding",
];

/** Every code that a route can answer, by status, in the order of the table of codes. */
function errorsByStatus({ access, body, errors }: Endpoint): Map<number, ErrorCode[]> {
  const possible = new Set([
    ...ALWAYS,
    ...(access === null ? [] : WITH_CREDENTIAL),
    ...(body === undefined ? [] : WITH_BODY),
    ...errors,
  ]);
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => possible.has(code));
  return Map.groupBy(codes, (code) => ERRORS[code].status);
}

/** Headers of refusals with a status, besides those of every answer. */
function errorHeaders(status: number): HeaderName[] {
  if (status === 401) return ["WWW-Authenticate"];
  if (status === 415) return ["Accept-Encoding"];
  return status === 429 || status === 503 ? ["Retry-After"] : [];
}

/**
 * References to what a call refuses.
 *
 * @param refusals where the answers are put that they lead to
 */
export function refusalsOf(
  endpoint: Endpoint,
  refusals: Map<string, JsonSchema>,
): JsonSchema {
  const { access, errorsAsText: asText = false } = endpoint;
  const refs: Record<string, unknown> = {};
  for (const [status, codes] of errorsByStatus(endpoint)) {
    const kind = asText ? "text." : access === null ? "open." : "";
    const name = `${kind}${codes.join(".")}`;
    refusals.set(name, refusalPart(status, codes, access, asText));
    refs[status] = { $ref: `#/components/responses/${name}` };
  }
  return refs;
}

/** One schema for all: a client has one type of errors, and the codes are in the description. */
function refusalPart(
  status: number,
  codes: readonly ErrorCode[],
  access: Endpoint["access"],
  asText: boolean,
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
  if (asText) {
    const schema = { type: "string", pattern: `^(${codes.join("|")}) .+\\n$` };
    const headers = headerRefs([...names, "X-Error-Code"]);
    return { description, headers, content: { "text/plain": { schema } } };
  }
  const schema = { $ref: "#/components/schemas/Error" };
  return { description, headers: headerRefs(names), content: { "application/json": { schema } } };
}
