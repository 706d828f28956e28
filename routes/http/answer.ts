/** Builds responses: serialized JSON, and errors as JSON or, on ping, as one line of text. */
import { type ErrorCode, ERRORS, type Problem } from "../../domain/core/errors.ts";
import { type RawJson, rawOf } from "../../domain/core/raw_json.ts";
import type { Losses } from "../../domain/core/losses.ts";
import type { RequestContext } from "./context.ts";
import { eTag, ifNoneMatch } from "@std/http";

/** Path whose errors are plain text (contract 9). */
export const PING_PATH = "/v1/ping";

/** Headers of one response, by name. */
type Headers = Record<string, string>;

/** Maximum bytes of a response that is sent in one piece: they fit the socket's buffer. */
export const WHOLE_BYTES_MAX = 16_384;

/** Maximum characters of a text that has no more bytes, even at three a character. */
const LONG_CHARS = 5_461;

const encoder = new TextEncoder();

/** Answers with serialized JSON, and a newline at the end for terminals. */
export function answer(
  c: RequestContext,
  status: 200 | 201 | 202,
  json: RawJson,
  headers?: Headers,
): Response {
  return answerText(c, status, `${json}\n`, "application/json", headers);
}

/** Answers with a record and its ETag, or with 304 when `If-None-Match` lists that ETag. */
export async function answerTagged(c: RequestContext, json: RawJson): Promise<Response> {
  // A long text is encoded once, for both its hash and its response.
  const text = json.length > LONG_CHARS ? encoder.encode(`${json}\n`) : `${json}\n`;
  const tag = await eTag(text);
  if (isKnown(c, tag)) return answerText(c, 304, null, null, { "ETag": tag });
  return answerText(c, 200, text, "application/json", { "ETag": tag });
}

/**
 * Answers with text. All headers are passed to the constructor: changing them later makes the runtime
 * build a Headers object, which takes as long as the rest of the response.
 */
export function answerText(
  c: RequestContext,
  status: number,
  text: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  type: string | null = "text/plain; charset=UTF-8",
  headers?: Headers,
): Response {
  if (isLong(text)) c.set("isLong", true);
  return new Response(text, { status, headers: headersOf(c, type, headers) });
}

/** Returns whether a text may have more bytes than are sent in one piece. */
function isLong(text: string | Uint8Array | ReadableStream | null): boolean {
  if (typeof text === "string") return text.length > LONG_CHARS;
  return text instanceof Uint8Array && text.length > WHOLE_BYTES_MAX;
}

/**
 * Returns the headers of a response; `headers` override the defaults. Only the client may cache a
 * response, and must revalidate it, because the content depends on the credential.
 */
function headersOf(c: RequestContext, type: string | null, headers: Headers | undefined): Headers {
  const all: Headers = {
    "X-Request-Id": c.get("requestId"),
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
  };
  if (type !== null) all["Content-Type"] = type;
  if (c.req.method === "GET" || c.req.method === "HEAD") all["Vary"] = VARY;
  const rate = c.get("rate");
  if (rate !== undefined) {
    all["RateLimit-Policy"] = c.get("ratePolicy") ?? "";
    all["RateLimit"] = rate;
  }
  return headers === undefined ? all : Object.assign(all, headers);
}

/** Headers that carry a credential. A ping may carry it in the query, but is never cached. */
const VARY = "Authorization, X-AgentPing-Key";

/**
 * Answers a first write with 202 and its retry with 200 (decision 23).
 *
 * @param guard verdict about the run; null to leave it out
 */
export function answerWrite(
  c: RequestContext,
  kind: "stored" | "replayed",
  json: RawJson,
  losses: Losses | null,
  guard: string | null = null,
): Response {
  const status = kind === "stored" ? 202 : 200;
  if (kind === "stored" && losses === null && guard === null) return answer(c, status, json);
  return answer(c, status, json, writeHeaders(kind, losses, guard));
}

/** Returns the headers of a write's response: a replay, fields that are not stored, and the verdict. */
export function writeHeaders(
  kind: "stored" | "replayed",
  losses: Losses | null,
  guard: string | null = null,
): Headers {
  const headers: Headers = kind === "replayed" ? { "Idempotent-Replayed": "true" } : {};
  const { dropped = null, ignored = null } = losses ?? {};
  if (dropped !== null) headers["Runledger-Dropped"] = dropped;
  if (ignored !== null) headers["Runledger-Ignored"] = ignored;
  if (guard !== null) headers["Runledger-Guard"] = guard;
  return headers;
}

/** Answers with an error; its code determines the status and the headers. */
export function fail(c: RequestContext, problem: Problem, headers: Headers = {}): Response {
  const { code, message, field } = problem;
  const { status } = ERRORS[code];
  c.set("problem", problem);
  const all = { ...refusalHeaders(problem), ...headers };
  const renderProblem = c.get("renderProblem");
  if (renderProblem !== undefined) return renderProblem(c, problem, all);
  if (c.req.path === PING_PATH) {
    const pingHeaders = { ...all, "X-Error-Code": code, "Cache-Control": "no-store" };
    return answerText(c, status, `${code} ${message}\n`, undefined, pingHeaders);
  }
  const json = `${rawOf({ error: code, message, field })}\n`;
  return answerText(c, status, json, "application/json", all);
}

/** Errors that close the connection: it serves no further requests. */
const CLOSING: ReadonlySet<ErrorCode> = new Set(["shutting_down"]);

function refusalHeaders({ code }: Problem): Headers {
  const { status } = ERRORS[code];
  return {
    ...(status === 401 ? { "WWW-Authenticate": "Bearer" } : {}),
    ...(status === 415 ? { "Accept-Encoding": "gzip" } : {}),
    // Jittered, so that clients do not all retry in the same second (decision 42).
    ...(status === 503 ? { "Retry-After": String(1 + Math.floor(Math.random() * 5)) } : {}),
    ...(CLOSING.has(code) ? { "Connection": "close" } : {}),
  };
}

/** Returns whether the client has the version with an ETag. */
export function isKnown(c: RequestContext, tag: string): boolean {
  return !ifNoneMatch(c.req.raw.headers.get("if-none-match"), tag);
}

/** Returns an empty stream as body for HEAD, where the length of the real stream is unknown. */
export function emptyStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** Refuses a request under overload. */
export const OVERLOADED = {
  code: "overloaded",
  message: "The server is overloaded: retry after the delay in Retry-After",
} as const;
