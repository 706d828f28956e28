/** Prometheus metrics: exact, bounded, and per team. */
import { assert, assertEquals } from "@std/assert";
import { Overloaded } from "../../domain/core/errors.ts";
import type { MonitorStore } from "../../kv/monitors/store.ts";
import { aFinish, aHeartbeat, aRun, events, runId } from "../support/builders/requests.ts";
import { Harness, KEY, oneInstance } from "../support/harness/harness.ts";
import { openWithOperator, OPERATOR_KEY } from "../support/harness/operator.ts";
import { Scrape } from "../support/oracles/prometheus.ts";
import { RawSocket } from "../support/harness/raw_socket.ts";
import { ofFile, ofInstance } from "../support/harness/test_kv.ts";

const TOTAL = "runledger_http_requests_total";

/** Reads and checks the metrics visible to a key. */
async function scrape(h: Harness, key: string = h.key): Promise<Scrape> {
  const answer = await h.get("/metrics", { key });
  assertEquals(answer.status, 200, answer.text);
  assertEquals(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  return new Scrape(answer.text);
}

/** Requests by method, route and status. */
function requestsOf(of: Scrape): Record<string, number> {
  return Object.fromEntries(
    of.of(TOTAL).map(({ labels, value }) => [
      `${labels["method"]} ${labels["route"]} ${labels["status"]}`,
      value,
    ]),
  );
}

oneInstance.test("metrics: a known series of calls is counted exactly, by route and status", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post("/v1/runs", aRun(1));
  await h.post("/v1/runs", aRun(1, { agent: "other" }));
  await h.post(`/v1/runs/${runId(1)}/events`, { events: events(1, 3) });
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  for (let n = 2; n < 7; n++) await h.post("/v1/heartbeats", aHeartbeat(n));
  await h.get("/v1/ping?agent=a");
  await h.request("HEAD", "/v1/ping?agent=a");
  await h.get(`/v1/runs/${runId(99)}`);
  await h.post("/v1/runs", "{");
  await scrape(h);
  const scraped = await scrape(h);
  assertEquals(requestsOf(scraped), {
    "POST /v1/runs 202": 1,
    "POST /v1/runs 200": 1,
    "POST /v1/runs 409": 1,
    "POST /v1/runs 400": 1,
    "POST /v1/runs/:id/events 202": 1,
    "POST /v1/runs/:id/finish 202": 1,
    "POST /v1/heartbeats 202": 5,
    "GET /v1/ping 200": 2,
    "GET /v1/runs/:id 404": 1,
    "GET /metrics 200": 1,
  });
  const took = scraped.of("runledger_http_request_duration_seconds_count");
  assertEquals(took.reduce((sum, { value }) => sum + value, 0), scraped.sum(TOTAL));
  const errors = scraped.of("runledger_http_errors_total").filter(({ value }) => value > 0);
  assertEquals(
    errors.map(({ labels, value }) => [labels["error"], value]),
    [["invalid_json", 1], ["not_found", 1], ["id_conflict", 1]],
  );
  // Opening, three events, finish, five heartbeats, two pings.
  assertEquals(scraped.value("runledger_quota_used_events"), 12);
  assertEquals(scraped.value("runledger_quota_included_events"), 25_000_000);
});

oneInstance.test("metrics: a team sees only its own metrics, not another's or the process's", async (h) => {
  const other = await h.addTeam("enterprise");
  for (let n = 1; n < 4; n++) await h.post("/v1/heartbeats", aHeartbeat(n));
  const before = await scrape(h, other.key);
  assertEquals([requestsOf(before), before.value("runledger_quota_used_events")], [{}, 0]);
  assertEquals(before.value("runledger_quota_included_events"), null);
  await h.post("/v1/heartbeats", aHeartbeat(1), { key: other.key });
  const after = await scrape(h, other.key);
  assertEquals(requestsOf(after), { "GET /metrics 200": 1, "POST /v1/heartbeats 202": 1 });
  assertEquals(requestsOf(await scrape(h)), { "POST /v1/heartbeats 202": 3 });
  assertEquals(
    [...after.types.keys()],
    [
      "runledger_http_requests_total",
      "runledger_http_request_duration_seconds",
      "runledger_http_errors_total",
      "runledger_quota_used_events",
      "runledger_quota_included_events",
      "runledger_incidents_open",
    ].filter((name) => name !== "runledger_quota_included_events"),
  );
});

ofInstance("metrics: the operator sees all requests, the store and the worker", async () => {
  await using h = await openWithOperator();
  for (let n = 1; n <= 20; n++) await h.post("/v1/heartbeats", aHeartbeat(n));
  await h.get("/v1/usage", { key: null });
  await h.worker.idle();
  const scraped = await scrape(h, OPERATOR_KEY);
  assertEquals(requestsOf(scraped), { "POST /v1/heartbeats 202": 20, "GET /v1/usage 401": 1 });
  const stored = scraped.value("runledger_commits_total", { end: "stored" }) ?? 0;
  assert(stored >= 20, String(stored));
  assertEquals(
    scraped.sum("runledger_commits_total"),
    scraped.value("runledger_commit_writes_count"),
  );
  assertEquals(
    scraped.value("runledger_writes_total"),
    scraped.value("runledger_commit_writes_sum"),
  );
  assertEquals(
    scraped.value("runledger_commit_duration_seconds_count"),
    scraped.sum("runledger_commits_total"),
  );
  assertEquals(scraped.value("runledger_store_up"), 1);
  assertEquals(scraped.value("runledger_dirty_runs", { lane: "closed" }), 0);
  assertEquals(scraped.value("runledger_writer_writes_waiting"), 0);
  // This request is the one in progress.
  assertEquals(scraped.value("runledger_http_requests_in_flight"), 1);
});

ofFile("metrics: the operator sees the sizes of the ledger's files", async () => {
  await using h = await openWithOperator();
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.worker.idle();
  const scraped = await scrape(h, OPERATOR_KEY);
  const bytes = await Deno.stat(h.path);
  assertEquals(scraped.value("runledger_kv_file_bytes"), bytes.size);
  assert((scraped.value("runledger_kv_wal_bytes") ?? 0) > 0);
});

ofInstance("metrics: no label or text is taken from a request, whatever it sends", async () => {
  await using h = await openWithOperator();
  const marks = ["EVIL", KEY, OPERATOR_KEY, h.team.id, "researcher"];
  await h.post("/v1/runs", aRun(1, { customer_id: "EVIL" }));
  await h.get("/EVIL?EVIL=1");
  await h.request("PROPFIND", "/v1/runs");
  await h.get("/v1/agents/EVIL");
  using socket = await RawSocket.open(h.url);
  await socket.send("EVIL /v1/runs HTTP/1.1\r\nHost: x\r\nUser-Agent: EVIL\r\n\r\n");
  await socket.answer();
  await h.get("/v1/runs/EVIL", { key: `apk_eu_${"e".repeat(32)}` });
  const { text } = await h.get("/metrics", { key: OPERATOR_KEY });
  for (const mark of marks) assert(!text.includes(mark), mark);
  const counts = requestsOf(new Scrape(text));
  assertEquals([counts["other other 404"], counts["other other 405"]], [1, 2]);
});

ofInstance(
  "metrics: a team's key shows which of its monitored agents are up, the operator's none",
  async () => {
    await using h = await openWithOperator();
    const other = await h.addTeam("team");
    for (const agent of ['a "quoted" \\ name', "b", "paused"]) {
      await h.post("/v1/heartbeats", { agent });
      await h.worker.idle();
      const path = `/v1/agents/${encodeURIComponent(agent)}/monitor`;
      await h.request("PUT", path, { body: { schedule: { every_seconds: 3_600 } } });
    }
    await h.post("/v1/agents/paused/monitor/pause", {});
    h.nowMs += 1_000;
    await h.post("/v1/heartbeats", { agent: "b", status: "fail" });
    await h.worker.idle();
    const up = (await scrape(h)).of("runledger_monitor_up");
    assertEquals(up.map(({ labels, value }) => [labels["agent"], value]), [
      ['a "quoted" \\ name', 1],
      ["b", 0],
    ]);
    for (const key of [other.key, OPERATOR_KEY]) {
      assertEquals((await scrape(h, key)).of("runledger_monitor_up"), []);
    }
  },
);

Deno.test("metrics: a team whose reads are overloaded still reads its other metrics", async () => {
  const list = () => Promise.reject(new Overloaded("for the test"));
  await using h = await Harness.open({ deps: { monitors: { list } as unknown as MonitorStore } });
  const scraped = await scrape(h);
  assertEquals(scraped.value("runledger_quota_used_events"), 0);
  assertEquals(scraped.of("runledger_monitor_up"), []);
});
