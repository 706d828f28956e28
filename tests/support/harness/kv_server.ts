/**
 * A shared KV: a KV Connect server over the engine of `denokv`, which can lose answers and be slow.
 *
 * Each path `/db/NAME` is a database of its own, in memory.
 */
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { openKv } from "@deno/kv";
import { KV_TOKEN } from "./kv_client.ts";

/** What happens to the answer of a stored commit: sent, lost with its connection, or an error. */
export type CommitAnswer = "sent" | "lost" | "unavailable";

/** Behaviour of a server; the test may change it at any time. */
export interface KvServerKnobs {
  /** Round trip, milliseconds. */
  delayMs: number;
  /** Decides about the answer of each commit. */
  answer: () => CommitAnswer;
}

/** The engine behind an open database; the package keeps it in fields of its handle. */
interface Engine {
  readonly napi: {
    snapshotRead(db: number, request: Uint8Array, debug: boolean): Promise<Uint8Array>;
    atomicWrite(db: number, request: Uint8Array, debug: boolean): Promise<Uint8Array>;
    startWatch(db: number, request: Uint8Array, debug: boolean): Promise<number>;
    dequeueNextWatchMessage(
      db: number,
      id: number,
      debug: boolean,
    ): Promise<Uint8Array | undefined>;
    endWatch(db: number, id: number, debug: boolean): void;
  };
  readonly dbId: number;
  close(): void;
}

/** Milliseconds between two frames of a watch that show that it is alive. */
const PING_MS = 5_000;

/** A running server. Always `await using`. */
export class KvServer implements AsyncDisposable {
  readonly knobs: KvServerKnobs = { delayMs: 0, answer: () => "sent" };
  /** Requests so far. */
  readonly counts = { reads: 0, commits: 0, watches: 0, lost: 0 };
  readonly #server: Http2Server;
  readonly #engines = new Map<string, Promise<Engine>>();
  readonly #streams = new Set<ServerHttp2Stream>();

  private constructor(server: Http2Server) {
    this.#server = server;
  }

  /** Starts a server on a free port. */
  static async start(): Promise<KvServer> {
    const http = createServer({ settings: { maxConcurrentStreams: 1_000 } });
    const server = new KvServer(http);
    http.on("stream", (stream, headers) => void server.#handle(stream, headers));
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", () => resolve()));
    return server;
  }

  /** Returns the URL of a database. */
  url(database = "test"): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new TypeError("Not listening");
    return `http://127.0.0.1:${address.port}/db/${database}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stream of this.#streams) stream.close();
    await new Promise((resolve) => this.#server.close(resolve));
    for (const engine of this.#engines.values()) (await engine).close();
  }

  async #handle(
    stream: ServerHttp2Stream,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): Promise<void> {
    this.#streams.add(stream);
    stream.on("close", () => this.#streams.delete(stream));
    stream.on("error", () => {});
    try {
      await this.#answer(stream, String(headers[":path"]), String(headers["authorization"]));
    } catch (error) {
      if (!stream.headersSent) respond(stream, 400, String(error));
    }
  }

  async #answer(stream: ServerHttp2Stream, path: string, authorization: string): Promise<void> {
    const request = await bytesOf(stream);
    const [, base, call] = /^(\/db\/[^/]+)(.*)$/.exec(path) ?? [];
    if (base === undefined) return respond(stream, 404, "no such database");
    if (authorization !== `Bearer ${KV_TOKEN}`) return respond(stream, 401, "invalid token");
    const { napi, dbId } = await this.#engineOf(base);
    await this.#travel();
    switch (call) {
      case "":
      case "/":
        return respond(stream, 200, metadataOf(base), "application/json");
      case "/v2/snapshot_read": {
        this.counts.reads++;
        const answer = await napi.snapshotRead(dbId, request, false);
        await this.#travel();
        return respond(stream, 200, answer);
      }
      case "/v2/atomic_write": {
        this.counts.commits++;
        const answer = await napi.atomicWrite(dbId, request, false);
        const fate = this.knobs.answer();
        if (fate !== "sent") this.counts.lost++;
        if (fate === "lost") return stream.session?.destroy();
        if (fate === "unavailable") return respond(stream, 503, "try again");
        await this.#travel();
        return respond(stream, 200, answer);
      }
      case "/v2/watch":
        this.counts.watches++;
        return await watch(stream, napi, dbId, request);
      default:
        return respond(stream, 404, "no such call");
    }
  }

  #engineOf(base: string): Promise<Engine> {
    const open = async () =>
      await openKv(":memory:", { implementation: "sqlite" }) as unknown as Engine;
    let engine = this.#engines.get(base);
    if (engine === undefined) this.#engines.set(base, engine = open());
    return engine;
  }

  /** Takes half of a round trip. */
  async #travel(): Promise<void> {
    const { delayMs } = this.knobs;
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs / 2));
  }
}

function metadataOf(base: string): string {
  return JSON.stringify({
    version: 3,
    databaseId: "00000000-0000-0000-0000-000000000000",
    endpoints: [{ url: `${base}/v2`, consistency: "strong" }],
    token: KV_TOKEN,
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
  });
}

async function bytesOf(stream: ServerHttp2Stream): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const part of stream) parts.push(part);
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function respond(
  stream: ServerHttp2Stream,
  status: number,
  body: string | Uint8Array,
  type = "application/x-protobuf",
): void {
  if (stream.destroyed) return;
  stream.respond({ ":status": status, "content-type": type });
  stream.end(body);
}

/** Sends each message of a watch with its length before it; a ping has no message. */
async function watch(
  stream: ServerHttp2Stream,
  napi: Engine["napi"],
  dbId: number,
  request: Uint8Array,
): Promise<void> {
  const id = await napi.startWatch(dbId, request, false);
  stream.respond({ ":status": 200, "content-type": "application/octet-stream" });
  const ping = setInterval(() => stream.write(new Uint8Array(4)), PING_MS);
  stream.on("close", () => {
    clearInterval(ping);
    napi.endWatch(dbId, id, false);
  });
  for (;;) {
    const message = await napi.dequeueNextWatchMessage(dbId, id, false).catch(() => undefined);
    if (message === undefined || stream.closed) return;
    const frame = new Uint8Array(4 + message.length);
    new DataView(frame.buffer).setUint32(0, message.length, true);
    frame.set(message, 4);
    stream.write(frame);
  }
}

if (import.meta.main) {
  const server = await KvServer.start();
  console.log(new URL(server.url()).origin);
}
