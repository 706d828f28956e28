/** A proxy in front of a KV server: it loses answers of commits, delays them, and can be cut. */

/**
 * The fate of a commit. `lost` and `unavailable` are stored without an answer and with 503; the
 * client sends them again. `torn` is stored, and its answer ends after the header: the client fails.
 * `refused` gets 503 and is not stored. `late` gets no answer and is stored later, maybe after the
 * client has sent it again.
 */
export type Fate = "sent" | "lost" | "torn" | "unavailable" | "refused" | "late";

/** Behaviour of a proxy; the test may change it at any time. */
interface ProxyKnobs {
  /** Returns the milliseconds by which a request is delayed. */
  delayMs: () => number;
  fate: () => Fate | Promise<Fate>;
  /** Returns true for requests that get no answer until the proxy ends. */
  hangs: (kind: ProxyRequest["kind"]) => boolean;
  /** True to break off every request. */
  isCut: boolean;
}

export interface ProxyRequest {
  readonly kind: "read" | "commit" | "other";
  /** Its body as Latin-1: names of keys can be found in it. */
  readonly text: string;
}

/** Milliseconds by which a `late` commit is delayed: the client repeats it after 0.2 to 0.3 s. */
const LATE_MS_MAX = 600;

const KINDS: Readonly<Record<string, ProxyRequest["kind"]>> = {
  snapshot_read: "read",
  atomic_write: "commit",
};

/** A running proxy of one client. Always `await using`. */
export class KvProxy implements AsyncDisposable {
  readonly knobs: ProxyKnobs;
  /** Requests so far, and commits with another fate than `sent`. */
  readonly counts = { reads: 0, commits: 0, lost: 0 };
  /** Sees each request before it is forwarded. */
  onRequest: (request: ProxyRequest) => void = () => {};
  readonly #target: () => string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #client = Deno.createHttpClient({ http1: false, http2: true });
  readonly #end = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  readonly #late = new Set<Promise<unknown>>();

  /** @param target returns the current origin of the server */
  constructor(target: () => string, knobs: Partial<ProxyKnobs> = {}) {
    this.#target = target;
    this.knobs = {
      delayMs: () => 0,
      fate: () => "sent",
      hangs: () => false,
      isCut: false,
      ...knobs,
    };
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {}, onError: unavailable },
      (request) => this.#answer(request).catch(() => unavailable()),
    );
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.resolve();
    // A client repeats a read without an answer forever.
    await this.#server.shutdown();
    this.#end.abort();
    await Promise.allSettled(this.#late);
    this.#client.close();
  }

  async #answer(request: Request): Promise<Response> {
    const body = await request.bytes();
    const { pathname } = new URL(request.url);
    const kind = KINDS[pathname.slice(pathname.lastIndexOf("/") + 1)] ?? "other";
    if (kind === "read") this.counts.reads++;
    if (kind === "commit") this.counts.commits++;
    this.onRequest({ kind, text: latin1(body) });
    const delayMs = this.knobs.delayMs();
    if (delayMs > 0) await sleep(delayMs);
    if (this.knobs.isCut) return brokenOff();
    if (this.knobs.hangs(kind)) await this.#ended.promise;
    const forward = () => this.#forward(pathname, request.headers, body);
    const fate = kind === "commit" ? await this.knobs.fate() : "sent";
    if (fate === "sent") return await forward();
    this.counts.lost++;
    if (fate === "refused") return unavailable();
    if (fate === "late") {
      this.#sendLate(forward);
      return brokenOff();
    }
    const stored = await forward();
    await stored.body?.cancel();
    return fate === "lost" ? brokenOff() : fate === "torn" ? torn() : unavailable();
  }

  async #forward(pathname: string, headers: Headers, body: Uint8Array): Promise<Response> {
    const sent = new Headers(headers);
    for (const name of ["host", "connection", "content-length"]) sent.delete(name);
    const { signal } = this.#end;
    const response = await fetch(`${this.#target()}${pathname}`, {
      method: "POST",
      headers: sent,
      body: body as BodyInit,
      client: this.#client,
      signal,
    });
    const type = response.headers.get("content-type") ?? "application/x-protobuf";
    return new Response(response.body, {
      status: response.status,
      headers: { "Content-Type": type },
    });
  }

  #sendLate(forward: () => Promise<Response>): void {
    const sending = sleep(Math.random() * LATE_MS_MAX)
      .then(forward)
      .then((response) => response.body?.cancel())
      // The server is gone: the commit is never stored.
      .catch(() => {})
      .finally(() => this.#late.delete(sending));
    this.#late.add(sending);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function latin1(body: Uint8Array): string {
  return new TextDecoder("latin1").decode(body);
}

function unavailable(): Response {
  return new Response("try again", { status: 503 });
}

/** No answer: the stream of the request ends before a header. */
function brokenOff(): Response {
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.error(new Error("lost")),
  });
  return new Response(body, { headers: { "Content-Type": "application/x-protobuf" } });
}

/** An answer that ends before the first byte of its body. */
function torn(): Response {
  const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() });
  const headers = { "Content-Type": "application/x-protobuf", "Content-Length": "16" };
  return new Response(body, { headers });
}
