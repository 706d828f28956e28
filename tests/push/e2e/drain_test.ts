/** Tests the graceful shutdown: acknowledged writes stay, and no client can delay it. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { BODY_DEADLINE_MS, DRAIN_MS_MAX } from "../../../domain/core/limits.ts";
import { Rounds } from "../../assurance/crash/rounds.ts";
import { aRun, runId } from "../../support/builders/requests.ts";
import { Listener } from "../../support/harness/live.ts";
import { Process } from "../../support/harness/process.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

const KEY = `apk_eu_${"d5".repeat(16)}`;
/** Milliseconds that are far less than the program's limit. */
const SOON_MS = DRAIN_MS_MAX * 0.7;

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  inFolder.test(`shutdown: ${signal} under load ends with 0, in time, and every acknowledged call is stored`, async (folder) => {
    await using rounds = new Rounds(folder);
    await rounds.start();
    rounds.load();
    const { code, ms, stderr } = await rounds.end(signal, 300);
    assertEquals(code, 0);
    assert(ms < DRAIN_MS_MAX, `${ms} ms`);
    assert(!stderr.includes("Unhandled"), stderr);
    await rounds.start();
  });
}

/** Sends half a request body; resolves when the server waits for the other half. */
async function sendHalf(url: string): Promise<{ socket: Deno.TcpConn; remaining: Uint8Array }> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  const body = JSON.stringify(aRun(1));
  const head = `POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\n` +
    `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`;
  const encoder = new TextEncoder();
  await socket.write(encoder.encode(head + body.slice(0, 10)));
  // The server asks for the body when its handler reads it.
  assertStringIncludes(await readText(socket), "100 Continue");
  return { socket, remaining: encoder.encode(body.slice(10)) };
}

async function readText(socket: Deno.TcpConn): Promise<string> {
  const buffer = new Uint8Array(65_536);
  const length = await socket.read(buffer) ?? 0;
  return new TextDecoder().decode(buffer.subarray(0, length));
}

/** Resolves when the server reports its shutdown or refuses connections. */
async function shutsDown(url: string): Promise<void> {
  for (;;) {
    using client = Deno.createHttpClient({});
    try {
      const response = await fetch(`${url}/readyz`, { client });
      await response.body?.cancel();
      if (response.status === 503) return;
    } catch {
      return;
    }
  }
}

inFolder.test("shutdown: a body that never ends delays it by at most 5 s", async (folder) => {
  const settings = { RUNLEDGER_KV: `${folder}/test.kv`, RUNLEDGER_KEY: KEY };
  await using process = await Process.start(settings);
  const { socket } = await sendHalf(process.url);
  const { code, ms } = await process.stop();
  socket.close();
  assertEquals(code, 0);
  // A busy machine adds to the 5 s; the deadline of the body would come later.
  assert(ms < BODY_DEADLINE_MS, `${ms} ms`);
});

inFolder.test("shutdown: a body in flight is accepted, or refused with a 503 that clients retry", async (folder) => {
  const settings = { RUNLEDGER_KV: `${folder}/test.kv`, RUNLEDGER_KEY: KEY };
  await using process = await Process.start(settings);
  const { socket, remaining } = await sendHalf(process.url);
  process.signal("SIGTERM");
  await shutsDown(process.url);
  await socket.write(remaining);
  const answer = await readText(socket);
  const { code, ms } = await process.ended();
  socket.close();
  assertEquals(code, 0);
  assert(ms < DRAIN_MS_MAX, `${ms} ms`);
  const status = Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1]);
  assert(status === 202 || status === 503, answer);

  await using again = await Process.start(settings);
  const read = await fetch(`${again.url}/v1/runs/${runId(1)}`, {
    headers: { Authorization: `Bearer ${KEY}` },
  });
  await read.body?.cancel();
  assertEquals(read.status, status === 202 ? 200 : 404);
  await again.stop();
});

inFolder.test("shutdown: two simultaneous signals count as one, a later one ends it immediately", async (folder) => {
  const settings = { RUNLEDGER_KV: `${folder}/test.kv`, RUNLEDGER_KEY: KEY };
  await using process = await Process.start(settings);
  const { socket } = await sendHalf(process.url);
  process.signal("SIGTERM");
  process.signal("SIGINT");
  await shutsDown(process.url);
  // It still waits for the body that never ends; only a repeated signal cuts that short.
  const repeating = setInterval(() => process.signal("SIGINT"), 50);
  const { code, ms } = await process.ended();
  clearInterval(repeating);
  socket.close();
  assertEquals(code, 1);
  assert(ms < SOON_MS, `${ms} ms`);
});

/** Opens a connection, sends a request that is answered with 200, and reads none of its body. */
async function openUnread(url: string, path: string): Promise<Deno.TcpConn> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
  await socket.write(new TextEncoder().encode(head));
  assertStringIncludes(await readText(socket), "200 OK");
  return socket;
}

inFolder.test("shutdown: live streams, waiting calls and idle connections end immediately, and delay nothing", async (folder) => {
  const settings = { RUNLEDGER_KV: `${folder}/test.kv`, RUNLEDGER_KEY: KEY };
  await using process = await Process.start(settings);
  const headers = { Authorization: `Bearer ${KEY}` };
  await using listener = await Listener.open(process.url, KEY);
  using _stream = await openUnread(process.url, "/v1/live");
  using _idle = await openUnread(process.url, "/healthz");
  using half = await openUnread(process.url, "/healthz");
  await half.write(new TextEncoder().encode("GET /healthz HTTP/1.1\r\nHo"));
  const opened = await fetch(`${process.url}/v1/runs`, {
    method: "POST",
    headers,
    body: JSON.stringify(aRun(1)),
  });
  await opened.body?.cancel();
  const [event] = await listener.events(1);
  assertEquals(event?.data.id, runId(1));
  const waits = [`/v1/changes?wait=30&after=${event?.id}`, `/v1/runs/${runId(1)}?wait=final`]
    .map((path) => fetch(process.url + path, { headers }));
  // This response follows them: by now they wait, or arrived too late to wait.
  const health = await fetch(`${process.url}/healthz`);
  await health.body?.cancel();
  process.signal("SIGTERM");
  const { code, ms, stderr } = await process.ended();
  assertEquals(code, 0);
  assert(ms < SOON_MS, `${ms} ms`);
  assert(!stderr.includes("Unhandled"), stderr);
  assertEquals((await listener.rest()).filter(({ event }) => event !== null), []);
  for (const answer of await Promise.all(waits)) {
    await answer.body?.cancel();
    assert(answer.status === 200 || answer.status === 503, `${answer.status}`);
  }
});
