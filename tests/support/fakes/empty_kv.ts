/** A shared KV without rows: a KV Connect server that answers reads and refuses commits. */
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";

/** Token of the server's clients. */
export const KV_TOKEN = "kvt_5ec5ec5ec5ec5ec5";

/** A running server. Always `await using`. */
export class EmptyKv implements AsyncDisposable {
  /** Paths of the requests with the token, in order. */
  readonly requests: string[] = [];
  readonly #server: Http2Server;

  private constructor(server: Http2Server) {
    this.#server = server;
  }

  /** Starts a server on a free port. */
  static async start(): Promise<EmptyKv> {
    const http = createServer();
    const server = new EmptyKv(http);
    http.on("stream", (stream, headers) => void server.#handle(stream, headers));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", () => resolve()));
    return server;
  }

  /** Returns the URL of the database. */
  url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new TypeError("Not listening");
    return `http://127.0.0.1:${address.port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(
    stream: ServerHttp2Stream,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): Promise<void> {
    const request: number[] = [];
    for await (const part of stream) request.push(...part);
    const answer = (status: number, body: string | Uint8Array) => {
      stream.respond({ ":status": status });
      stream.end(body);
    };
    if (headers["authorization"] !== `Bearer ${KV_TOKEN}`) return answer(401, "invalid token");
    const path = String(headers[":path"]);
    this.requests.push(path);
    switch (path) {
      case "/":
        return answer(200, metadata());
      case "/v2/snapshot_read":
        return answer(200, emptyRanges(request));
      default:
        return answer(403, "read only");
    }
  }
}

function metadata(): string {
  return JSON.stringify({
    version: 3,
    databaseId: "00000000-0000-0000-0000-000000000000",
    endpoints: [{ url: "/v2", consistency: "strong" }],
    token: KV_TOKEN,
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
  });
}

/** Protobuf: an embedded message in field 1, here a range of a read or of its answer. */
const RANGE = 0x0a;
/** Protobuf: field 4 is true (the read was consistent), and field 8 is 1 (success). */
const SUCCESS = [0x20, 1, 0x40, 1];

/** Answers each range of a read with no rows. */
function emptyRanges(request: readonly number[]): Uint8Array {
  const answer: number[] = [];
  for (let at = 0; at < request.length && request[at] === RANGE;) {
    answer.push(RANGE, 0);
    let [length, scale] = [0, 1];
    for (at++; (request[at] ?? 0) >= 0x80; at++, scale *= 0x80) {
      length += ((request[at] ?? 0) - 0x80) * scale;
    }
    length += (request[at] ?? 0) * scale;
    at += 1 + length;
  }
  return new Uint8Array([...answer, ...SUCCESS]);
}
