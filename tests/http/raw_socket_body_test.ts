/** Bodies with a wrong length, interrupted, too large or endless. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Hono } from "hono";
import type { Team } from "../../domain/teams/team.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { BODY_BYTES_MAX, BODY_DEADLINE_MS } from "../../domain/core/limits.ts";
import { Deadlines, TIMERS } from "../../runtime/deadlines.ts";
import { Memory } from "../../runtime/memory.ts";
import type { Env } from "../../routes/http/context.ts";
import { readJsonBody } from "../../routes/http/body.ts";
import { Admission } from "../../routes/http/admission.ts";
import { serve } from "../../app/server.ts";
import { ALL_SCOPES, Harness } from "../support/harness/harness.ts";
import {
  ask,
  AUTH,
  BAD_CHUNK_SIZES,
  BODY,
  chunked,
  head,
  LENGTH,
  post,
  type RawAnswer,
  RawSocket,
  refusal,
  refused,
  SIZE,
  SMUGGLED,
  unharmed,
} from "../support/harness/raw_socket.ts";

Harness.test("a body with a broken chunk is refused or cut off, and nothing of it is stored", async (h) => {
  const remainder = [BODY, "0", "", ""];
  await unharmed(h, async () => {
    for (const size of BAD_CHUNK_SIZES) {
      await refused(
        h,
        `chunk size ${JSON.stringify(size)}`,
        chunked(size, ...remainder) + SMUGGLED,
      );
    }
    const late = head("POST /v1/runs HTTP/1.1", "Host: x", "Transfer-Encoding: chunked") +
      [SIZE, BODY, "0", AUTH, "", ""].join("\r\n");
    assertEquals(refusal(await ask(h.url, late)), [401, "invalid_credential"]);
  });
  assertEquals((await ask(h.url, chunked(`${SIZE};a=b`, ...remainder)))?.status, 202);
  assertEquals((await ask(h.url, chunked(SIZE, BODY, "0", "X-Checksum: 1", "", "")))?.status, 200);
  assertEquals(await h.usage(), 1);
});

Harness.test("a body that ends early is invalid_json and stores nothing", async (h) => {
  await unharmed(h, async () => {
    const half = BODY.slice(0, BODY.length / 2);
    // A truncated body that happens to be valid JSON must not count as the announced body.
    const complete = post([`Content-Length: ${BODY.length + 1}`]) + BODY;
    const chunks = chunked(SIZE, BODY);
    for (const bytes of [post([LENGTH]) + half, post([LENGTH]), complete, chunks]) {
      using socket = await RawSocket.open(h.url);
      await socket.send(bytes);
      await socket.endSending();
      assertEquals(refusal(await socket.answer()), [400, "invalid_json"], bytes);
      assert(await socket.ended());
    }
  });
});

/**
 * Reads the response to a request whose body is never sent; the runtime may send 100 Continue
 * first.
 */
async function finalAnswer(url: string, bytes: string): Promise<RawAnswer | null> {
  using socket = await RawSocket.open(url);
  await socket.send(bytes);
  const first = await socket.answer();
  return first?.status === 100 ? await socket.answer() : first;
}

Harness.test("Expect: 100-continue is answered before the body, or refused without it", async (h) => {
  const EXPECT = "Expect: 100-continue";
  await unharmed(h, async () => {
    const stranger = head("POST /v1/runs HTTP/1.1", "Host: x", LENGTH, EXPECT);
    assertEquals(refusal(await finalAnswer(h.url, stranger)), [401, "invalid_credential"]);
    const large = post([`Content-Length: ${BODY_BYTES_MAX + 1}`, EXPECT]);
    assertEquals(refusal(await finalAnswer(h.url, large)), [413, "payload_too_large"]);
  });
  using socket = await RawSocket.open(h.url);
  await socket.send(post([LENGTH, EXPECT]));
  assertEquals((await socket.answer())?.status, 100);
  await socket.send(BODY);
  assertEquals((await socket.answer())?.status, 202);
});

Harness.test("decision 11: 413 for an announced 100 MB is sent immediately, before or during the upload", async (h) => {
  const announced = post(["Content-Length: 100000000"]);
  await unharmed(h, async () => {
    assertEquals(refusal(await ask(h.url, announced)), [413, "payload_too_large"]);
    using socket = await RawSocket.open(h.url);
    await socket.send(announced);
    // Far more than the sockets' buffers: a server that closed now would reset the connection.
    await socket.send(new Uint8Array(16 * BODY_BYTES_MAX));
    assertEquals(refusal(await socket.answer()), [413, "payload_too_large"]);
  });
});

Harness.test("decision 11: a chunked body is 413 once it exceeds the limit, whatever follows", async (h) => {
  await unharmed(h, async () => {
    using socket = await RawSocket.open(h.url);
    await socket.send(post(["Transfer-Encoding: chunked"]));
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    await socket.send(chunk.repeat(BODY_BYTES_MAX / 0x10000 + 1));
    // The last chunk is never sent, so the response cannot have waited for the end.
    assertEquals(refusal(await socket.answer()), [413, "payload_too_large"]);
  });
});

/** The service's own body guard with a deadline short enough for a test. */
async function withDeadline(ms: number, run: (url: string) => Promise<void>): Promise<void> {
  const app = new Hono<Env>();
  using deadlines = new Deadlines(ms, TIMERS);
  const guard = readJsonBody(
    deadlines,
    new Admission({
      memory: new Memory(),
      shuttingDown: new AbortController().signal,
      draining: () => false,
      silentMsMax: Infinity,
    }),
    { shape: "fields" },
  );
  const team: Team = { id: "team" as TeamId, name: "team", tier: "team" };
  app.post("/", async (c) => {
    c.set("principal", { team, credentialId: "key", grant: ALL_SCOPES });
    return await guard(c) ?? c.json(c.var.body.value);
  });
  const server = serve(app.fetch, "127.0.0.1", 0);
  await run(server.url);
  await server.drain();
}

Deno.test("a body that never ends is 408 after the deadline, silent or dripping", async () => {
  const start = head("POST / HTTP/1.1", "Host: x", "Content-Length: 1000") + '{"a":';
  await withDeadline(100, async (url) => {
    using silent = await RawSocket.open(url);
    const startedMs = performance.now();
    await silent.send(start);
    const answer = await silent.answer();
    assertEquals(refusal(answer), [408, "body_timeout"]);
    assertStringIncludes(answer?.body ?? "", "100 ms");
    assert(performance.now() - startedMs >= 99, "before the deadline");
    // Announced by the response, and by the server if the body is unread.
    assertStringIncludes(answer?.headers.get("connection") ?? "", "close");
    await silent.endSending();
    assert(await silent.ended());

    using dripping = await RawSocket.open(url);
    await dripping.send(start);
    const drip = setInterval(() => dripping.send(" ").catch(() => {}), 20);
    assertEquals(refusal(await dripping.answer()), [408, "body_timeout"]);
    clearInterval(drip);
  });
});

Deno.test("a body in pieces that ends before the deadline is accepted", async () => {
  await withDeadline(BODY_DEADLINE_MS, async (url) => {
    using socket = await RawSocket.open(url);
    await socket.send(head("POST / HTTP/1.1", "Host: x", "Content-Length: 7"));
    for (const piece of ['{"a"', ":1", "}"]) await socket.send(piece);
    assertEquals((await socket.answer())?.body, '{"a":1}');
  });
});
