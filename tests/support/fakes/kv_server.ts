/**
 * A shared KV: a KV Connect server over the engine of `denokv`, which can lose answers and be slow.
 *
 * Each path `/db/NAME` is a database of its own, in memory or in a file. As a program it takes a
 * folder for the files and a port, both optional, and prints its address.
 */
import { KV_TOKEN } from "./kv_client.ts";
import { EngineProcess, type KvDatabase, type KvEngine } from "./kv_engine_process.ts";
import { fixture } from "../harness/fixture.ts";

/** The fate of a stored commit's answer: sent, broken off, or an error. */
export type CommitAnswer = "sent" | "lost" | "unavailable";

/** Behaviour of a server; the test may change it at any time. */
export interface KvServerKnobs {
  /** Round trip, milliseconds. */
  delayMs: number;
  /** Decides about the answer of each commit. */
  answer: () => CommitAnswer | Promise<CommitAnswer>;
  /** Requests that get no answer: none, all after a client has opened the database, or all. */
  hangs: "none" | "calls" | "all";
}

export interface KvServerOptions {
  /** Folder for the databases; without one they are in memory. */
  readonly folder?: string | undefined;
  /** Port to listen on; a free one by default. */
  readonly port?: number;
}

/** A running server. Always `await using`. */
export class KvServer implements AsyncDisposable {
  /** Declares a test of databases on a shared KV. */
  static readonly test = fixture(() => KvServer.start());

  readonly knobs: KvServerKnobs = { delayMs: 0, answer: () => "sent", hangs: "none" };
  /** Requests so far. */
  readonly counts = { reads: 0, commits: 0, lost: 0 };
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #engine: KvEngine;
  readonly #databases = new Map<string, Promise<KvDatabase>>();
  readonly #folder: string | null;
  /** Resolves when requests without an answer end. */
  readonly #end = Promise.withResolvers<void>();

  private constructor({ folder, port = 0 }: KvServerOptions, engine: KvEngine) {
    this.#folder = folder ?? null;
    this.#engine = engine;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port, onListen: () => {} },
      (request) => this.#answer(request).catch((error) => text(400, String(error))),
    );
  }

  /**
   * Starts a server.
   *
   * @param engine engine to end with the server; by default one in a process of its own
   */
  static async start(options: KvServerOptions = {}, engine?: KvEngine): Promise<KvServer> {
    return new KvServer(options, engine ?? await EngineProcess.start());
  }

  url(database = "test"): string {
    return `http://127.0.0.1:${this.#server.addr.port}/db/${database}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.resolve();
    await this.#server.shutdown();
    await this.#engine[Symbol.asyncDispose]();
  }

  async #answer(request: Request): Promise<Response> {
    const body = await request.bytes();
    const [, base, call] = /^(\/db\/[^/]+)(.*)$/.exec(new URL(request.url).pathname) ?? [];
    if (base === undefined) return text(404, "no such database");
    if (request.headers.get("authorization") !== `Bearer ${KV_TOKEN}`) {
      return text(401, "invalid token");
    }
    const database = await this.#databaseOf(base);
    await this.#travel();
    const isCall = call !== "" && call !== "/";
    const { hangs } = this.knobs;
    if (hangs === "all" || hangs === "calls" && isCall) await this.#end.promise;
    switch (call) {
      case "":
      case "/":
        return Response.json(metadataOf(base));
      case "/v2/snapshot_read": {
        this.counts.reads++;
        const answer = await database.snapshotRead(body);
        await this.#travel();
        return protobuf(answer);
      }
      case "/v2/atomic_write": {
        this.counts.commits++;
        const answer = await database.atomicWrite(body);
        const fate = await this.knobs.answer();
        if (fate !== "sent") this.counts.lost++;
        if (fate === "lost") return protobuf(brokenOff());
        if (fate === "unavailable") return text(503, "try again");
        await this.#travel();
        return protobuf(answer);
      }
      default:
        return text(404, "no such call");
    }
  }

  #databaseOf(base: string): Promise<KvDatabase> {
    const path = this.#folder === null
      ? ":memory:"
      : `${this.#folder}/${base.slice("/db/".length)}.sqlite`;
    let database = this.#databases.get(base);
    if (database === undefined) this.#databases.set(base, database = this.#engine.open(path));
    return database;
  }

  /** Takes half of a round trip. */
  async #travel(): Promise<void> {
    const { delayMs } = this.knobs;
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs / 2));
  }
}

function metadataOf(base: string) {
  return {
    version: 3,
    databaseId: "00000000-0000-0000-0000-000000000000",
    endpoints: [{ url: `${base}/v2`, consistency: "strong" }],
    token: KV_TOKEN,
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
  };
}

function text(status: number, body: string): Response {
  return new Response(body, { status });
}

function protobuf(body: Uint8Array | ReadableStream<Uint8Array>): Response {
  const headers = { "Content-Type": "application/x-protobuf" };
  return new Response(body as BodyInit, { headers });
}

/** A body that ends with an error before its first byte. */
function brokenOff(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.error(new Error("lost")) });
}

if (import.meta.main) {
  const [folder, port = "0"] = Deno.args;
  // Not a test process: it may load the addon, and `kill -9` has to end the engine.
  const { LocalEngine } = await import("./kv_engine.ts");
  const server = await KvServer.start({ folder, port: Number(port) }, new LocalEngine());
  // deno-lint-ignore no-console -- prints its address for the tests
  console.log(new URL(server.url()).origin);
}
