/** Responses that are the same for every client: rendered and compressed once. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { takesGzip } from "./compress.ts";
import type { Handler, HandlerDeps } from "./admission.ts";
import type { RequestContext } from "./context.ts";
import { isKnown, tagOf } from "./etag.ts";

const deflated = promisify(gzip);

/** Content of a static answer. */
interface StaticContent {
  readonly type: string;
  readonly text: string;
  /** Headers in addition to `Content-Type`, `ETag` and the common ones. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Plain and compressed bytes of a response. All requests share them, so they are not counted. */
export class StaticBytes {
  readonly #text: string;
  #plain: Uint8Array<ArrayBuffer> | undefined;
  #gzipped: Promise<Uint8Array<ArrayBuffer>> | undefined;

  /** Creates the holder; encoding and compression wait for the first request. */
  constructor(text: string) {
    this.#text = text;
  }

  /** Answers in an encoding that the client accepts. Changes `headers`. */
  async answer(c: RequestContext, headers: Record<string, string>): Promise<Response> {
    if (!takesGzip(c)) {
      const plain = this.#plain ??= new TextEncoder().encode(this.#text);
      return new Response(plain, { headers: headersOf(c, headers) });
    }
    this.#gzipped ??= deflated(this.#text, { level: 9 }) as Promise<Uint8Array<ArrayBuffer>>;
    headers["Content-Encoding"] = "gzip";
    return new Response(await this.#gzipped, { headers: headersOf(c, headers) });
  }
}

function headersOf(c: RequestContext, headers: Record<string, string>): Record<string, string> {
  headers["Vary"] = "Accept-Encoding";
  headers["X-Content-Type-Options"] = "nosniff";
  headers["X-Request-Id"] = c.get("requestId");
  return headers;
}

/** Answers with a text that is rendered at the first request, since most processes never need it. */
export function staticResponse(make: (deps: HandlerDeps) => Promise<StaticContent>): Handler {
  let content: Promise<ReturnType<typeof withBytes>> | undefined;
  return async (c, deps) => {
    const { bytes, tag, headers } = await (content ??= make(deps).then(withBytes));
    // A strong ETag identifies the uncompressed bytes; compressed ones get a weak ETag.
    const all = { ...headers, "ETag": takesGzip(c) ? `W/${tag}` : tag };
    return isKnown(c, tag)
      ? new Response(null, { status: 304, headers: headersOf(c, all) })
      : await bytes.answer(c, all);
  };
}

function withBytes({ type, text, headers }: StaticContent) {
  const own = { "Content-Type": type, "Cache-Control": "public, max-age=300" };
  return { bytes: new StaticBytes(text), tag: tagOf(text), headers: { ...own, ...headers } };
}
