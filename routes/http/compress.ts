/** Compresses the responses of reads for clients that accept gzip. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { weightsOf } from "./accept.ts";
import type { Handle, RequestContext } from "./context.ts";

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
