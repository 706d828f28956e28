/** Too many requests at once: refused before anything of them is read (decision 2, decision 42). */
import { assert, assertEquals } from "@std/assert";
import type { RunStore } from "../../domain/ports.ts";
import { aRun } from "../support/builders.ts";
import { type Answer, Harness } from "../support/harness.ts";

const REQUESTS_MAX = 500;

Deno.test("beyond 500 requests at work the next is 503 after a moment, and fits again when they are done", async () => {
  const gate = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  let waiting = 0;
  const runs: Partial<RunStore> = {
    async open(_, request) {
      if (++waiting === REQUESTS_MAX) full.resolve();
      await gate.promise;
      return { kind: "conflict", field: request.agent === "" ? "agent" : "started_at" };
    },
  };
  await using h = await Harness.open({ tier: "enterprise", deps: { runs: runs as RunStore } });
  const under = Array.from({ length: REQUESTS_MAX }, (_, n) => h.post("/v1/runs", aRun(n)));
  await full.promise;
  const startMs = performance.now();
  const refused = await h.post("/v1/runs", "a body that nobody looks at", { key: "none" });
  assertEquals([refused.status, refused.json.error], [503, "overloaded"]);
  const seconds = Number(refused.headers.get("retry-after"));
  assert(seconds >= 1 && seconds <= 5);
  // It was held, so that it does not come back at once.
  assert(performance.now() - startMs >= 240);
  // Whether the process lives is told all the same.
  assertEquals((await h.get("/healthz", { key: null })).status, 200);
  gate.resolve();
  const statuses = new Set((await Promise.all(under)).map(({ status }) => status));
  assertEquals(statuses, new Set([409]));
  assertEquals((await h.post("/v1/runs", "no body", { key: "none" })).status, 401);
});

Deno.test("requests whose bodies never come take no room from others", async () => {
  await using h = await Harness.open({ tier: "enterprise" });
  const { hostname, port } = new URL(h.url);
  const head = `POST /v1/runs HTTP/1.1\r\nHost: ${hostname}:${port}\r\n` +
    `Authorization: Bearer ${h.key}\r\nContent-Length: 1000\r\n\r\n{"id":`;
  const stalled: Deno.TcpConn[] = [];
  for (let n = 0; n < REQUESTS_MAX + 50; n++) {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(new TextEncoder().encode(head));
    stalled.push(connection);
  }
  assertEquals((await h.post("/v1/runs", aRun(1))).status, 202);
  for (const connection of stalled) connection.close();
});

/** Sends new requests until one is answered so: what other connections sent may not be there yet. */
async function untilStatus(send: () => Promise<Answer>, status: number): Promise<Answer> {
  for (let tries = 1;; tries++) {
    const answer = await send();
    if (answer.status === status) return answer;
    assert(tries < 1_000, `always ${answer.status}`);
  }
}

/** Opens connections that announce bodies and never send the rest. */
async function announce(h: Harness, key: string, count: number, bytes: number) {
  const { hostname, port } = new URL(h.url);
  const head = `POST /v1/runs HTTP/1.1\r\nHost: ${hostname}:${port}\r\n` +
    `Authorization: Bearer ${key}\r\nContent-Length: ${bytes}\r\n\r\n{`;
  const connections: Deno.TcpConn[] = [];
  for (let n = 0; n < count; n++) {
    const connection = await Deno.connect({ hostname, port: Number(port) });
    await connection.write(new TextEncoder().encode(head));
    connections.push(connection);
  }
  return connections;
}

Deno.test("a team whose large bodies never come is refused more of them; small ones and other teams pass", async () => {
  await using h = await Harness.open({ tier: "enterprise" });
  const other = await h.addTeam("enterprise");
  const goal = "x".repeat(16_000);
  const large = (n: number) => aRun(n, { goal, metadata: { long: "y".repeat(1_000) } });
  const stalled = await announce(h, h.key, 32, 1_048_576);
  let next = 10;
  const refused = await untilStatus(() => h.post("/v1/runs", large(next++)), 503);
  assertEquals(refused.json.error, "overloaded");
  assert(refused.headers.has("retry-after"));
  assertEquals((await h.get(`/v1/runs/${aRun(next - 1).id}`)).status, 404);
  assertEquals((await h.post("/v1/runs", aRun(2))).status, 202);
  assertEquals((await h.post("/v1/runs", large(3), { key: other.key })).status, 202);
  for (const connection of stalled) connection.close();
  await untilStatus(() => h.post("/v1/runs", large(next++)), 202);
});
