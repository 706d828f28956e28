/** Idle connections are closed, those with a response in progress are not. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type RunningServer, serve } from "../../app/server.ts";
import { head, RawSocket } from "../support/harness/raw_socket.ts";

const LIMITS = { headMs: 400, idleMs: 900, refusedMs: 200 };
/** Allowance for the periodic check of all connections and a busy machine. */
const SLACK_MS = 900;

const PARTS = 8, PART_MS = 250;

/** A server with a short idle timeout. */
class Server implements AsyncDisposable {
  readonly #running: RunningServer = serve((request) => this.#answer(request), "127.0.0.1", 0, {
    limits: LIMITS,
  });

  get url(): string {
    return this.#running.url;
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/stream") return new Response(slowly());
    if (pathname === "/refused") return new Response("no", { status: 401 });
    if (pathname === "/late") await new Promise((resolve) => setTimeout(resolve, PARTS * PART_MS));
    await request.text();
    return new Response("yes");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.drain();
  }
}

/** A body that takes longer than the idle timeout. */
function slowly(): ReadableStream<Uint8Array> {
  return ReadableStream.from(async function* () {
    for (let part = 0; part < PARTS; part++) {
      await new Promise((resolve) => setTimeout(resolve, PART_MS));
      yield new TextEncoder().encode(String(part));
    }
  }());
}

/** Sends bytes; returns what the server sends until it closes, and after how many milliseconds. */
async function closes(url: string, bytes: string): Promise<{ text: string; ms: number }> {
  using socket = await RawSocket.open(url);
  const startMs = performance.now();
  await socket.send(bytes);
  const text = await socket.rest();
  return { text, ms: performance.now() - startMs };
}

function assertClosed(ms: number, limitMs: number): void {
  // A timer may fire slightly early.
  assert(ms >= limitMs - 20 && ms <= limitMs + SLACK_MS, `${ms} ms, not ${limitMs}`);
}

Deno.test("connections: a connection with an incomplete request head is closed, also after a response", async () => {
  await using server = new Server();
  const get = head("GET / HTTP/1.1", "Host: x");
  const [silent, half, idle, second] = await Promise.all(
    ["", "GET / HTTP/1.1\r\nHo", get, `${get}GET / HT`].map((bytes) => closes(server.url, bytes)),
  );
  for (const { text, ms } of [silent!, half!]) {
    assertEquals(text, "");
    assertClosed(ms, LIMITS.headMs);
  }
  for (const { text, ms } of [idle!, second!]) {
    assertStringIncludes(text, "yes");
    assertClosed(ms, LIMITS.idleMs);
  }
});

Deno.test("connections: a connection whose body was refused is closed soon after the response", async () => {
  await using server = new Server();
  const length = head("POST /refused HTTP/1.1", "Host: x", "Content-Length: 9") + "{";
  const chunks = head("POST /refused HTTP/1.1", "Host: x", "Transfer-Encoding: chunked") +
    "5\r\nab";
  await Promise.all([length, chunks].map(async (bytes) => {
    const { text, ms } = await closes(server.url, bytes);
    assertStringIncludes(text, "401 Unauthorized");
    assertClosed(ms, LIMITS.refusedMs);
  }));
});

Deno.test("connections: a running response, each request and a complete stream keep a connection open", async () => {
  await using server = new Server();
  const get = (path: string) => head(`GET ${path} HTTP/1.1`, "Host: x");
  const stays = async () => {
    using socket = await RawSocket.open(server.url);
    for (let n = 0; n < 4; n++) {
      await socket.send(get("/"));
      assertEquals((await socket.answer())?.body, "yes");
      await new Promise((resolve) => setTimeout(resolve, LIMITS.idleMs / 2));
    }
  };
  const [stream, late] = await Promise.all([
    closes(server.url, get("/stream")),
    closes(server.url, get("/late")),
    stays(),
  ]);
  assert(stream.text.endsWith("\r\n7\r\n0\r\n\r\n"), stream.text);
  assertStringIncludes(late.text, "yes");
  for (const { ms } of [stream, late]) assertClosed(ms, PARTS * PART_MS + LIMITS.idleMs);
});
