/** Well-formed HTTP requests with corrupt contents. */
import type { Random } from "../../../tools/random.ts";
import { KEY } from "../../support/harness/harness.ts";
import { PING_PATH } from "../../../routes/http/answer.ts";
import { type Draft, Drafts } from "./drafts.ts";
import { type Shot, shot } from "./shot.ts";
import { damagedJson } from "./values.ts";

/** Headers outside the contract, or other ways to send a credential. */
const ODD_HEADERS = [
  ...["X-Forwarded-Host: x/healthz?", "X-Original-URL: /healthz", "X-Rewrite-URL: /v1/keys"],
  ...["X-HTTP-Method-Override: DELETE", "X-Forwarded-Prefix: /v1", "Forwarded: host=y;proto=https"],
  ...["Content-Encoding: gzip", "Content-Encoding: br", "Content-Encoding: IDENTITY"],
  ...["Content-Encoding: gzip, gzip", "Content-Type: text/plain", "Content-Type: \x80\xff"],
  ...["Accept: application/json", "Accept: ", "Accept-Encoding: gzip;q=-1", "Range: bytes=0-"],
  ...["If-None-Match: *", "Expect: 100-continue", "User-Agent: agentping-x", "Cookie: a=b; c"],
  ...["Origin: null", "TE: trailers", "X-Request-Id: 1", "X-AgentPing-Key: nope", "X: \t y \t"],
] as const;

const ODD_CREDENTIALS = [
  ...[[], ["Authorization:"], ["Authorization: Bearer"], [`Authorization: bearer ${KEY}`]],
  ...[[`X-AgentPing-Key: ${KEY}`], [`Authorization: Basic ${btoa(`${KEY}:`)}`]],
  ...[["Authorization: Basic ***"], [`Authorization: Bearer ${KEY.toUpperCase()}`]],
  ...[[`Authorization: Bearer ${KEY.replace("_eu_", "_us_")}`], [`Authorization: Digest ${KEY}`]],
  ...[["Authorization: Bearer apk_eu_" + "0".repeat(32)]],
] as const;

/** Returns a well-formed HTTP request with corrupt contents. */
export function oddRequest(random: Random): Shot {
  const draft = new Drafts(random, false).next();
  const headers = random.chance(0.05)
    ? random.pick(ODD_CREDENTIALS as unknown as [string[], ...string[][]])
    : [`Authorization: Bearer ${KEY}`];
  const odd = random.chance(0.1)
    ? [random.pick(ODD_HEADERS as unknown as [string]), ...headers]
    : headers;
  return write("fields", draft, { headers: odd, chunked: random.chance(0.1) ? random : null });
}

export function damagedBody(random: Random): Shot {
  let draft: Draft;
  do draft = new Drafts(random, true).next(); while (draft.text === null);
  const body = damagedJson(random, draft.text ?? "");
  return write("JSON text", draft, { headers: [`Authorization: Bearer ${KEY}`], body });
}

/** Options for writing a draft. */
interface Writing {
  readonly headers: readonly string[];
  /** Replaces the draft's path. */
  readonly path?: string;
  /** Null if the headers include it. */
  readonly host?: string | null;
  readonly body?: Uint8Array;
  readonly mustRefuse?: boolean;
  /** Splits the body into chunks of random sizes. */
  readonly chunked?: Random | null;
}

export function write(kind: string, draft: Draft, writing: Writing): Shot {
  const { method, query, text, patient = false } = draft;
  const { path = draft.path, headers, mustRefuse = false, chunked = null } = writing;
  const search = query.map(([name, value]) => `${name}=${value}`).join("&");
  const target = path + (search === "" ? "" : `?${search}`);
  const body = writing.body ?? (text === null ? null : new TextEncoder().encode(text));
  const framed = body === null ? { header: [], chunks: [] } : frame(body, chunked);
  const host = writing.host === null ? [] : ["Host: x"];
  const lines = [`${method} ${target} HTTP/1.1`, ...host, ...headers, ...framed.header, "", ""];
  const isHead = method === "HEAD";
  const isRead = (method === "GET" || isHead) && draft.path !== PING_PATH;
  const mayPassLater = isRead || draft.path.endsWith("/finish");
  const more = { isHead, mayPassLater, mustRefuse, patient };
  return shot(kind, [lines.join("\r\n"), ...framed.chunks], more);
}

/** Frames a body by its length or in chunks. */
function frame(body: Uint8Array, random: Random | null) {
  if (random === null) return { header: [`Content-Length: ${body.length}`], chunks: [body] };
  const chunks: (string | Uint8Array)[] = [];
  for (let at = 0; at < body.length;) {
    const size = Math.min(body.length - at, random.int(1, 400));
    const extension = random.pick(["", "", ";a=b", ';a="b"']);
    chunks.push(`${size.toString(16)}${extension}\r\n`, body.subarray(at, at + size), "\r\n");
    at += size;
  }
  return { header: ["Transfer-Encoding: chunked"], chunks: [...chunks, "0\r\n\r\n"] };
}
