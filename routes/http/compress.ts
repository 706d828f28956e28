/** Compressed responses: of reads at each request, of static texts once. */
import { eTag } from "@std/http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Handle, RequestContext } from "./context.ts";
import type { Handler, HandlerDeps } from "./admission.ts";
import { isKnown } from "./answer.ts";

const deflated = promisify(gzip);

/** Minimum bytes to compress: a smaller response fits one packet uncompressed. */
const BYTES_MIN = 1_400;

/** Media types to compress. Streams are excluded: a compressor would buffer and delay their text. */
const WHOLE = /^(application\/json|text\/html|text\/plain)\b/;

/** Compresses a handler's responses off the main thread. */
export function compressed(handle: Handle): Handle {
  return async (c) => {
    const response = await handle(c);
    const { status, headers } = response;
    // Does not touch the body: as a stream it would be sent in chunks, without its length.
    const isWhole = status === 200 && WHOLE.test(headers.get("content-type") ?? "");
    if (!isWhole && status !== 304) return response;
    headers.append("Vary", "Accept-Encoding");
    if (!takesGzip(c)) return response;
    // Also when too small to compress: a client gets the same tag for a record on 200 and on 304.
    weaken(headers);
    if (status === 304) return response;
    const bytes = await response.bytes();
    if (bytes.length < BYTES_MIN) return new Response(bytes, { status, headers });
    headers.set("Content-Encoding", "gzip");
    return new Response(await deflated(bytes) as Uint8Array<ArrayBuffer>, { status, headers });
  };
}

/** Weakens the ETag: a strong one would identify the uncompressed bytes. */
function weaken(headers: Headers): void {
  const tag = headers.get("etag");
  if (tag !== null) headers.set("ETag", `W/${tag}`);
}

/** Returns whether the client lists gzip with a weight above 0. */
export function takesGzip(c: RequestContext): boolean {
  return (weightsOf(c.req.raw.headers.get("accept-encoding")).get("gzip") ?? 0) > 0;
}

/** Content negotiation by the quality values in request headers (RFC 9110, 12.4.2). */

/** Returns the quality value of each listed item, from 0 to 1; an invalid value counts as 0. */
export function weightsOf(header: string | null): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const item of header?.toLowerCase().split(",") ?? []) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    const weight = parameters.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
    if (!weights.has(name)) weights.set(name, Number(weight) || 0);
  }
  return weights;
}

/** Returns whether an `Accept` header lists JSON with at least the weight of plain text. */
export function prefersJson(accept: string | null): boolean {
  const weights = weightsOf(accept);
  const json = weights.get("application/json") ?? weights.get("application/*") ?? 0;
  const text = weights.get("text/plain") ?? weights.get("text/*") ?? weights.get("*/*") ?? 0;
  return json > 0 && json >= text;
}

/** Content of a static answer. */
interface StaticContent {
  readonly type: string;
  readonly text: string;
  /** Headers in addition to `Content-Type`, `ETag` and the common ones. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Plain and compressed bytes of a response. All requests share them, so they are not counted. */
export class StaticBytes {
  readonly #plain: Uint8Array<ArrayBuffer>;
  #gzipped: Promise<Uint8Array<ArrayBuffer>> | undefined;

  /** Encodes a text; compression waits for the first request. */
  constructor(text: string) {
    this.#plain = new TextEncoder().encode(text);
  }

  /** Answers in an encoding that the client accepts. Changes `headers`. */
  async answer(c: RequestContext, headers: Record<string, string>): Promise<Response> {
    if (!takesGzip(c)) return new Response(this.#plain, { headers: headersOf(c, headers) });
    this.#gzipped ??= deflated(this.#plain, { level: 9 }) as Promise<Uint8Array<ArrayBuffer>>;
    headers["Content-Encoding"] = "gzip";
    return new Response(await this.#gzipped, { headers: headersOf(c, headers) });
  }
}

function headersOf(c: RequestContext, headers: Record<string, string>): Record<string, string> {
  headers["Vary"] = [headers["Vary"] ?? [], "Accept-Encoding"].flat().join(", ");
  headers["X-Content-Type-Options"] = "nosniff";
  headers["X-Request-Id"] = c.get("requestId");
  return headers;
}

/** Answers with a text that is rendered at the first request, since most processes never need it. */
export function staticResponse(make: (deps: HandlerDeps) => Promise<StaticContent>): Handler {
  let content: ReturnType<typeof withBytes> | undefined;
  return async (c, deps) => {
    const { bytes, tag, headers } = await (content ??= make(deps).then(withBytes));
    // A strong ETag identifies the uncompressed bytes; compressed ones get a weak ETag.
    const all = { ...headers, "ETag": takesGzip(c) ? `W/${tag}` : tag };
    return isKnown(c, tag)
      ? new Response(null, { status: 304, headers: headersOf(c, all) })
      : await bytes.answer(c, all);
  };
}

async function withBytes({ type, text, headers }: StaticContent) {
  const own = { "Content-Type": type, "Cache-Control": "public, max-age=300" };
  return { bytes: new StaticBytes(text), tag: await eTag(text), headers: { ...own, ...headers } };
}
