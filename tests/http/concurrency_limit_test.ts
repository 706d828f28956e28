/**
 * Too many concurrent requests are refused before anything of them is read (decision 2, decision
 * 42).
 */
import { assert, assertEquals } from "@std/assert";
import type { RunStore } from "../../domain/runs/run_store.ts";
import { aRun } from "../support/builders/requests.ts";
import { enterprise, Harness } from "../support/harness/harness.ts";
import { ofInstance } from "../support/harness/test_kv.ts";

const REQUESTS_MAX = 500;

ofInstance(
  "request 501 in progress is 503 after a moment, and is accepted when others finish",
  async () => {
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
    // One team may have at most 400 of them.
    const { key: other } = await h.addTeam("enterprise");
    const under = Array.from(
      { length: REQUESTS_MAX },
      (_, n) => h.post("/v1/runs", aRun(n), { key: n % 2 === 0 ? h.key : other }),
    );
    await full.promise;
    const startMs = performance.now();
    const refused = await h.post("/v1/runs", "a body that nobody looks at", { key: "none" });
    assertEquals([refused.status, refused.json.error], [503, "overloaded"]);
    const seconds = Number(refused.headers.get("retry-after"));
    assert(seconds >= 1 && seconds <= 5);
    // The refusal is delayed, so that the client does not retry immediately.
    assert(performance.now() - startMs >= 240);
    // The liveness probe still answers.
    assertEquals((await h.get("/healthz", { key: null })).status, 200);
    gate.resolve();
    const statuses = new Set((await Promise.all(under)).map(({ status }) => status));
    assertEquals(statuses, new Set([409]));
    assertEquals((await h.post("/v1/runs", "no body", { key: "none" })).status, 401);
  },
);

ofInstance("request 401 of one team in progress is 503, and other teams are served", async () => {
  const gate = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  let waiting = 0;
  const runs: Partial<RunStore> = {
    async open() {
      if (++waiting === 400) full.resolve();
      if (waiting <= 400) await gate.promise;
      return { kind: "conflict", field: "agent" };
    },
  };
  await using h = await Harness.open({ tier: "enterprise", deps: { runs: runs as RunStore } });
  const under = Array.from({ length: 400 }, (_, n) => h.post("/v1/runs", aRun(n)));
  await full.promise;
  const startMs = performance.now();
  const refused = await h.post("/v1/runs", aRun(1_000));
  assertEquals([refused.status, refused.json.error], [503, "overloaded"]);
  // A client that retries at once would otherwise take the processor from admitted requests.
  assert(performance.now() - startMs >= 240);
  const { key } = await h.addTeam("free");
  assertEquals((await h.post("/v1/runs", aRun(1_000), { key })).status, 409);
  gate.resolve();
  assertEquals(new Set((await Promise.all(under)).map(({ status }) => status)), new Set([409]));
});

enterprise.test("requests whose bodies never arrive take no capacity from others", async (h) => {
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
