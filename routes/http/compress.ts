/** Answers of reads, compressed for clients that take gzip. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { weightsOf } from "./accept.ts";
import type { Handle, RequestContext } from "./context.ts";

const deflated = promisify(gzip);

/** Bytes from which it pays: fewer fit one packet as they are. */
const BYTES_MIN = 1_400;

/** Types of answers that are compressed. Streams are not: text waits in a compressor and arrives late. */
const WHOLE = /^(application\/json|text\/html|text\/plain)\b/;

/** Compresses what a handler answers, off the thread that serves. */
export function compressed(handle: Handle): Handle {
  return async (c) => {
    const response = await handle(c);
    const { status, headers } = response;
    // Its body is not touched: as a stream it would leave in chunks, without its length.
    const isWhole = status === 200 && WHOLE.test(headers.get("content-type") ?? "");
    if (!isWhole && status !== 304) return response;
    headers.append("Vary", "Accept-Encoding");
    if (!takesGzip(c)) return response;
    // Also of what is too small to compress: one client has one tag of a record, on 200 and on 304.
    weaken(headers);
    if (status === 304) return response;
    const bytes = await response.bytes();
    if (bytes.length < BYTES_MIN) return new Response(bytes, { status, headers });
    headers.set("Content-Encoding", "gzip");
    return new Response(await deflated(bytes) as Uint8Array<ArrayBuffer>, { status, headers });
  };
}

/** A strong tag would name the bytes as they are, and those of this client are others. */
function weaken(headers: Headers): void {
  const tag = headers.get("etag");
  if (tag !== null) headers.set("ETag", `W/${tag}`);
}

/** Whether the client lists gzip, and not with a weight of 0. */
export function takesGzip(c: RequestContext): boolean {
  return (weightsOf(c.req.raw.headers.get("accept-encoding")).get("gzip") ?? 0) > 0;
}
