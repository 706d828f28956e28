/** Answers that are the same for everybody: made once, and their compressed bytes as well. */
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
  /** Headers besides type, `ETag` and those that every such answer has. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The bytes of an answer, as they are and compressed. All requests share them, so they are not counted. */
export class StaticBytes {
  readonly #text: string;
  #plain: Uint8Array<ArrayBuffer> | undefined;
  #gzipped: Promise<Uint8Array<ArrayBuffer>> | undefined;

  /** Creates what is encoded and compressed at the first request for it. */
  constructor(text: string) {
    this.#text = text;
  }

  /** Answers with those that the client takes. The headers may be changed. */
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

/** Answers with a text that is made at the first request, since most processes never need it. */
export function staticResponse(make: (deps: HandlerDeps) => Promise<StaticContent>): Handler {
  let made: Promise<ReturnType<typeof withBytes>> | undefined;
  return async (c, deps) => {
    const { bytes, tag, headers } = await (made ??= make(deps).then(withBytes));
    // A strong tag names the bytes as they are, not those that are compressed.
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
