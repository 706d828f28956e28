/** HTTP to addresses that teams chose: one deadline, bounded answers, no redirects, no proxies. */
import { assert, assertEquals } from "@std/assert";
import { createPost, parseEgress, type PostOutcome } from "../../../outbound/http.ts";
import { AUTHORITY } from "../../support/fakes/certificates.ts";
import { answer, type Behavior, Receiver, SILENT } from "../../support/fakes/receiver.ts";

const NEVER = new AbortController().signal;

/** Sends to a URL; each name has the addresses 127.0.0.1. */
function send(url: string, signal: AbortSignal = NEVER, setting = "127.0.0.0/8") {
  const egress = parseEgress(setting);
  assert(egress !== null);
  const resolve = () => Promise.resolve(["127.0.0.1"]);
  const post = createPost({ egress, resolve, authorities: AUTHORITY });
  return post({ url, headers: { "x-own": "é" }, body: '{"a":"ü"}' }, signal);
}

function statusOf(outcome: PostOutcome): number | string {
  return outcome.kind === "answered" ? outcome.status : outcome.kind;
}

function reasonOf(outcome: PostOutcome): string {
  return outcome.kind === "failed" ? outcome.reason : outcome.kind;
}

Deno.test("http: a request arrives once, complete, with the name of its host", async () => {
  await using receiver = new Receiver(answer(201, { "Retry-After": "7" }, "thanks"));
  const outcome = await send(`http://Receiver.test:${receiver.port}/a%20b?c=d&e#f`);
  assert(outcome.kind === "answered");
  assertEquals([outcome.status, outcome.text, outcome.isPublic], [201, "thanks", false]);
  assertEquals([outcome.header("retry-after"), outcome.header("x")], ["7", null]);
  const [request] = receiver.requests;
  assertEquals([request?.method, request?.path, request?.body], [
    "POST",
    "/a%20b?c=d&e",
    '{"a":"ü"}',
  ]);
  const { headers } = request ?? {};
  assertEquals(headers?.get("host"), `receiver.test:${receiver.port}`);
  assertEquals(receiver.connections, 1);
});

Deno.test("http: each request has a connection of its own", async () => {
  await using receiver = new Receiver();
  for (let sent = 1; sent <= 3; sent++) {
    assertEquals(statusOf(await send(receiver.url)), 200);
    assertEquals(receiver.connections, sent);
  }
});

Deno.test("http: a redirect is an answer, and its target gets no request", async () => {
  await using target = new Receiver();
  await using receiver = new Receiver();
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.behavior = answer(status, { location: target.url });
    assertEquals(statusOf(await send(receiver.url)), status);
  }
  assertEquals([receiver.connections, target.connections], [5, 0]);
});

/** Receivers that never end their answer, at each step. */
const ENDLESS: Record<string, Behavior> = {
  silence: SILENT,
  "half a head": async ({ write, closed }) => {
    await write("HTTP/1.1 200 OK\r\nx-a: ");
    await closed;
  },
  "a head that drips": async ({ write, closed }) => {
    const drip = async () => {
      for (const part of "HTTP/1.1 200 OK\r\n") {
        await write(part);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    await Promise.all([drip().catch(() => {}), closed]);
  },
  "interim answers": async ({ write, closed }) => {
    await write("HTTP/1.1 100 Continue\r\n\r\n".repeat(10));
    await closed;
  },
};

for (const [name, behavior] of Object.entries(ENDLESS)) {
  Deno.test(`http: a receiver with ${name} takes no longer than the deadline`, async () => {
    await using receiver = new Receiver(behavior);
    const startedMs = performance.now();
    const outcome = await send(receiver.url, AbortSignal.timeout(250));
    const tookMs = performance.now() - startedMs;
    assertEquals(reasonOf(outcome), "No answer within the time limit");
    assert(tookMs >= 240 && tookMs < 10_000, `${tookMs} ms`);
  });
}

Deno.test("http: a search for addresses that never ends takes no longer than the deadline", async () => {
  const egress = parseEgress("public");
  assert(egress !== null);
  const post = createPost({ egress, resolve: () => new Promise(() => {}) });
  const request = { url: "https://a.example/", headers: {}, body: "" };
  const outcome = await post(request, AbortSignal.timeout(50));
  assertEquals(reasonOf(outcome), "No answer within the time limit");
});

Deno.test("http: an endless body is read up to 64 KiB", async () => {
  let written = 0;
  await using receiver = new Receiver(async ({ write }) => {
    await write("HTTP/1.1 200 OK\r\n\r\n");
    for (; written < 1e9; written += 16_384) await write("x".repeat(16_384));
  });
  const outcome = await send(receiver.url);
  assert(outcome.kind === "answered");
  const { status, text: { length } } = outcome;
  // The last read may take it beyond the limit.
  assert(status === 200 && length > 30_000 && length <= 131_072, `${status}, ${length}`);
  assert(written < 1e9, "the receiver could write everything");
});

/** Endless answers with hardly any body. */
const BODILESS: Record<string, readonly [head: string, more: string, kind: string]> = {
  "interim answers": ["", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", "failed"],
  "chunks of one byte": ["HTTP/1.1 200 OK\r\n", "1\r\na\r\n", "answered"],
  "the extension of a chunk": ["HTTP/1.1 200 OK\r\n", "1;a=", "answered"],
};

for (const [name, [head, more, kind]] of Object.entries(BODILESS)) {
  Deno.test(`http: ${name} without end are read up to 64 KiB`, async () => {
    let written = 0;
    await using receiver = new Receiver(async ({ write }) => {
      if (head !== "") await write(`${head}transfer-encoding: chunked\r\n\r\n`);
      const text = more.repeat(Math.ceil(16_384 / more.length));
      for (; written < 1e9; written += text.length) await write(text);
    });
    const outcome = await send(receiver.url, AbortSignal.timeout(15_000));
    assertEquals(outcome.kind, kind);
    // The buffers of both ends take a few megabytes.
    assert(written < 2e7, `${written} bytes were read`);
  });
}

Deno.test("http: the status counts, also if the body does not end before the deadline", async () => {
  await using receiver = new Receiver(async ({ write, closed }) => {
    await write("HTTP/1.1 503 No\r\ncontent-length: 99\r\n\r\npart");
    await closed;
  });
  const outcome = await send(receiver.url, AbortSignal.timeout(2_000));
  assert(outcome.kind === "answered");
  assertEquals([outcome.status, outcome.text], [503, "part"]);
});

Deno.test("http: a head without end is refused, and bounded", async () => {
  let written = 0;
  await using receiver = new Receiver(async ({ write }) => {
    await write("HTTP/1.1 200 OK\r\n");
    for (; written < 1e8; written += 16_000) await write(`x-${written}: ${"y".repeat(15_980)}\r\n`);
  });
  const outcome = await send(receiver.url, AbortSignal.timeout(15_000));
  assertEquals(outcome.kind, "failed");
  // The buffers of both ends take a few megabytes.
  assert(written < 2e7, `${written} bytes were read`);
});

Deno.test("http: reasons of failures name no address", async () => {
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr;
  closed.close();
  assertEquals(reasonOf(await send(`http://127.0.0.1:${port}/`)), "The connection was refused");
  await using receiver = new Receiver(() => {});
  const early = "The connection was closed before an answer";
  assertEquals(reasonOf(await send(receiver.url)), early);
  for (const garbage of ["\u0000\u0001garbage\r\n\r\n", "HTTP/9.9 x\r\n\r\n", "SSH-2.0-x\r\n"]) {
    receiver.behavior = ({ write }) => write(garbage);
    const outcome = await send(receiver.url, AbortSignal.timeout(15_000));
    assert(outcome.kind === "failed" && !/127|::/.test(outcome.reason), JSON.stringify(outcome));
  }
  receiver.behavior = ({ write }) =>
    write("HTTP/1.1 101 Go\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
  assert(["failed", 101].includes(statusOf(await send(receiver.url, AbortSignal.timeout(15_000)))));
});

Deno.test("http: the signal of the caller ends a request", async () => {
  const stop = new AbortController();
  await using receiver = new Receiver(({ closed }) => {
    stop.abort();
    return closed;
  });
  assertEquals(reasonOf(await send(receiver.url, stop.signal)), "The attempt was cancelled");
  assertEquals(reasonOf(await send(receiver.url, stop.signal)), "The attempt was cancelled");
  assertEquals(receiver.connections, 1);
});

Deno.test("http: a header with a line break is not sent", async () => {
  await using receiver = new Receiver();
  const egress = parseEgress("127.0.0.0/8");
  assert(egress !== null);
  const post = createPost({ egress, resolve: () => Promise.reject(new Error("unused")) });
  for (
    const headers of [{ "x-a": "b\r\nx-c: d" }, { "x a": "b" }, { "x\r\ny": "b" }, { "x-a": "π" }]
  ) {
    const outcome = await post({ url: receiver.url, headers, body: "" }, NEVER);
    assertEquals(outcome.kind, "invalid");
  }
  assertEquals(receiver.connections, 0);
});

Deno.test("http: TLS checks the name of the URL, not the address", async () => {
  await using receiver = new Receiver(answer(204), { tls: true });
  const { port } = receiver;
  for (const name of ["receiver.test", "receiver.test."]) {
    assertEquals(statusOf(await send(`https://${name}:${port}/`)), 204, name);
  }
  assertEquals(receiver.requests.length, 2);
  const wrong = "The TLS certificate is for another host name";
  for (const name of ["other.test", "a.receiver.test", "127.0.0.1"]) {
    assertEquals(reasonOf(await send(`https://${name}:${port}/`)), wrong, name);
  }
  assertEquals(receiver.requests.length, 2);
  const egress = parseEgress("127.0.0.0/8");
  assert(egress !== null);
  const untrusting = createPost({ egress, resolve: () => Promise.resolve(["127.0.0.1"]) });
  const request = { url: `https://receiver.test:${port}/`, headers: {}, body: "" };
  const outcome = await untrusting(request, NEVER);
  assertEquals(reasonOf(outcome), "The TLS certificate or connection is not valid");
  assertEquals(receiver.requests.length, 2);
});
