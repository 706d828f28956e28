/**
 * Too many concurrent requests are refused before anything of them is read (decision 2, decision
 * 42).
 */
import { assert, assertEquals } from "@std/assert";
import type { RunStore } from "../../domain/runs/run_store.ts";
import { aRun } from "../support/builders/requests.ts";
import { type Answer, enterprise, Harness } from "../support/harness/harness.ts";
import { OPERATOR_KEY } from "../support/harness/operator.ts";
import { ofInstance } from "../support/harness/test_kv.ts";
import { Scrape } from "../support/oracles/prometheus.ts";

const REQUESTS_MAX = 500;
const TEAM_REQUESTS_MAX = 400;

/** Opens a service that answers the first `count` openings of runs when its gate opens. */
async function openWithGate(count: number) {
  const gate = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  let waiting = 0;
  const runs: Partial<RunStore> = {
    async open() {
      if (++waiting === count) full.resolve();
      if (waiting <= count) await gate.promise;
      return { kind: "conflict", field: "agent" };
    },
  };
  const deps = { runs: runs as RunStore };
  const h = await Harness.open({ tier: "enterprise", deps, operatorKey: OPERATOR_KEY });
  const close = () => h[Symbol.asyncDispose]();
  return { h, full: full.promise, release: () => gate.resolve(), [Symbol.asyncDispose]: close };
}

/** Requires a refusal with a delay, so that a client does not retry immediately. */
async function assertOverloaded(request: Promise<Answer>): Promise<void> {
  const startMs = performance.now();
  const refused = await request;
  assertEquals([refused.status, refused.json.error], [503, "overloaded"]);
  const seconds = Number(refused.headers.get("retry-after"));
  assert(seconds >= 1 && seconds <= 5);
  assert(performance.now() - startMs >= 240);
}

ofInstance(
  "request 501 in progress is 503 after a moment, and is accepted when others finish",
  async () => {
    await using opened = await openWithGate(REQUESTS_MAX);
    const { h } = opened;
    const { key: other } = await h.addTeam("enterprise");
    const under = Array.from(
      { length: REQUESTS_MAX },
      (_, n) => h.post("/v1/runs", aRun(n), { key: n % 2 === 0 ? h.key : other }),
    );
    await opened.full;
    await assertOverloaded(h.post("/v1/runs", "a body that nobody looks at", { key: "none" }));
    // The liveness probe and the metrics still answer.
    assertEquals((await h.get("/healthz", { key: null })).status, 200);
    const scraped = new Scrape((await h.get("/metrics", { key: OPERATOR_KEY })).text);
    assertEquals(scraped.value("runledger_http_requests_in_flight"), REQUESTS_MAX + 1);
    assertEquals(scraped.value("runledger_http_errors_total", { error: "overloaded" }), 1);
    opened.release();
    const statuses = new Set((await Promise.all(under)).map(({ status }) => status));
    assertEquals(statuses, new Set([409]));
    assertEquals((await h.post("/v1/runs", "no body", { key: "none" })).status, 401);
  },
);

ofInstance("request 401 of one team in progress is 503, and other teams are served", async () => {
  await using opened = await openWithGate(TEAM_REQUESTS_MAX);
  const { h } = opened;
  const under = Array.from({ length: TEAM_REQUESTS_MAX }, (_, n) => h.post("/v1/runs", aRun(n)));
  await opened.full;
  await assertOverloaded(h.post("/v1/runs", aRun(1_000)));
  const { key } = await h.addTeam("free");
  assertEquals((await h.post("/v1/runs", aRun(1_000), { key })).status, 409);
  opened.release();
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
