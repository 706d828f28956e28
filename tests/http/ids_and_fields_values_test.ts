/** Instants and agent slugs: accepted forms and stored values (decisions 12 and 13). */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const GOOD_INSTANTS: readonly (readonly [sent: string, echoed: string])[] = [
  ["2026-11-21T12:00:00Z", "2026-11-21T12:00:00.000Z"],
  ["2026-11-21T12:00:00.5Z", "2026-11-21T12:00:00.500Z"],
  ["2026-11-21T12:00:00.05Z", "2026-11-21T12:00:00.050Z"],
  ["2026-11-21T12:00:00.123Z", "2026-11-21T12:00:00.123Z"],
  ["2026-11-21T12:00:00.1239Z", "2026-11-21T12:00:00.123Z"],
  ["2026-11-21T12:00:00.999999999Z", "2026-11-21T12:00:00.999Z"],
  ["2026-11-21T12:00:00+00:00", "2026-11-21T12:00:00.000Z"],
  ["2026-11-21T12:00:00.25-00:00", "2026-11-21T12:00:00.250Z"],
  ["2024-02-29T23:59:59Z", "2024-02-29T23:59:59.000Z"],
  ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"],
  ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
];

Harness.test("decision 12: every format of an instant is echoed and read to the millisecond", async (h) => {
  for (const [n, [sent, echoed]] of GOOD_INSTANTS.entries()) {
    const opened = await h.post("/v1/runs", aRun(n, { started_at: sent }));
    assertEquals([opened.status, opened.json.started_at], [202, echoed], sent);
    const events = [anEvent(n, { ts: sent })];
    assertEquals((await h.post(`/v1/runs/${runId(n)}/events`, { events })).status, 202, sent);
    const finished = await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ finished_at: sent }));
    assertEquals([finished.status, finished.json.finished_at], [202, echoed], sent);
    const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
    assertEquals(
      [run.started_at, run.finished_at, run.events[0].ts, run.duration_ms],
      [echoed, echoed, echoed, 0],
    );
  }
});

Harness.test("decision 12: retries compare instants, never their text", async (h) => {
  const first = "2026-11-21T12:00:00.1204Z";
  assertEquals((await h.post("/v1/runs", aRun(1, { started_at: first }))).status, 202);
  for (const same of ["2026-11-21T12:00:00.12Z", "2026-11-21T12:00:00.120999+00:00"]) {
    const answer = await h.post("/v1/runs", aRun(1, { started_at: same }));
    assertEquals([answer.status, answer.json.started_at], [200, at(120)], same);
  }
  const other = await h.post("/v1/runs", aRun(1, { started_at: "2026-11-21T12:00:00.121Z" }));
  assertEquals([other.status, other.json.field], [409, "started_at"]);
});

const GOOD_AGENTS: readonly string[] = [
  "a",
  "0",
  "researcher v2",
  "team/agent?x=1#y%20",
  "Größe",
  "日本語",
  "__proto__",
  "constructor",
  "null",
  '"quoted" \\ <b>',
  "x".repeat(128),
  "😀".repeat(128),
  "zero\u200bwidth",
];

Harness.test("decision 13: an agent slug is stored and returned as sent", async (h) => {
  for (const [n, agent] of GOOD_AGENTS.entries()) {
    const opened = await h.post("/v1/runs", aRun(n, { agent }));
    assertEquals([opened.status, opened.json.agent], [202, agent]);
    assertEquals((await h.get(`/v1/runs/${runId(n)}`)).json.agent, agent);
    assertEquals((await h.post("/v1/runs", aRun(n, { agent }))).status, 200);
    const beat = await h.post("/v1/heartbeats", aHeartbeat(100 + n, { agent }));
    assertEquals([beat.status, beat.json.agent], [202, agent]);
  }
  const { value } = await h.store.reader.get(["agent_count", h.team.id]);
  assertEquals(value, new Deno.KvU64(BigInt(GOOD_AGENTS.length)));
});

Harness.test("decision 13: agents that differ in case are two agents, and a retry must name the same one", async (h) => {
  assertEquals((await h.post("/v1/runs", aRun(1, { agent: "Nightly" }))).status, 202);
  const other = await h.post("/v1/runs", aRun(1, { agent: "nightly" }));
  assertEquals([other.status, other.json.field], [409, "agent"]);
  assertEquals((await h.post("/v1/runs", aRun(2, { agent: "nightly" }))).status, 202);
  assertEquals((await h.store.reader.get(["agent_count", h.team.id])).value, new Deno.KvU64(2n));
});

Harness.test("decision 11, R7: lone surrogates are refused in names, replaced in labels and kept in payloads", async (h) => {
  const lone = "a\\ud83db";
  const run = JSON.stringify(aRun(1)).slice(0, -1);
  let n = 1;
  for (const field of ["customer_id", "feature", "goal"]) {
    const input = run.replace(runId(1), runId(++n));
    const answer = await h.post("/v1/runs", `${input},"${field}":"${lone}"}`);
    assertEquals([answer.status, answer.headers.get("runledger-dropped")], [202, `${field}=1`]);
    assertEquals((await h.get(`/v1/runs/${runId(n)}`)).json[field], "a\ufffdb");
  }
  const event = JSON.stringify(anEvent(1, { type: "X", data: "D" }));
  const batch = (type: string, data: string) =>
    `{"events":[${event.replace('"X"', type).replace('"D"', data)}]}`;
  const path = `/v1/runs/${runId(1)}`;
  const badType = await h.post(`${path}/events`, batch(`"${lone}"`, "{}"));
  assertEquals([badType.status, badType.json.field], [400, "type"]);
  const finish = JSON.stringify(aFinish()).slice(0, -1);
  const badScore = await h.post(`/v1/runs/${runId(9)}/finish`, `${finish},"scores":{"${lone}":1}}`);
  assertEquals([badScore.status, badScore.headers.get("runledger-dropped")], [202, "scores=1"]);

  const payload = `{"${lone}":"${lone}"}`;
  assertEquals((await h.post(`${path}/events`, batch('"log"', payload))).status, 202);
  assertEquals((await h.post(`${path}/finish`, `${finish},"output":${payload}}`)).status, 202);
  const { text } = await h.get(path);
  assertEquals(text.split(payload).length - 1, 2, "data and output are both as sent");
});

Harness.test("agent names that no path can contain are refused on every call", async (h) => {
  const calls = { "/v1/runs": aRun(1), "/v1/heartbeats": aHeartbeat(1) };
  for (const [path, body] of Object.entries(calls)) {
    for (const agent of ["", ".", ".."]) {
      const { status, json } = await h.post(path, { ...body, agent });
      assertEquals([status, json.error, json.field], [400, "invalid_field", "agent"], agent);
      assertStringIncludes(json.message, '".."');
    }
  }
  for (const agent of [".", ".."]) {
    const ping = await h.get(`/v1/ping?agent=${agent}`);
    assertEquals([ping.status, ping.headers.get("x-error-code")], [400, "invalid_field"]);
    const token = await h.post("/v1/keys", { kind: "ping_token", name: "t", agent });
    assertEquals([token.status, token.json.field], [400, "agent"]);
  }
  // Absent is still absent, and dots among other characters are allowed.
  assertEquals((await h.post("/v1/runs", { ...aRun(2), customer_id: null })).status, 202);
  assertEquals((await h.post("/v1/runs", { ...aRun(3), customer_id: "..." })).status, 202);
  assertEquals((await h.get("/v1/ping?agent=a..b")).status, 200);
  assertEquals(await h.usage(), 3);
});

Harness.test("R8: a customer name that no path can contain is dropped and reported, and the call is stored", async (h) => {
  let n = 0;
  for (const [path, bodyOf] of [["/v1/runs", aRun], ["/v1/heartbeats", aHeartbeat]] as const) {
    for (const customer_id of ["", ".", ".."]) {
      const answer = await h.post(path, bodyOf(++n, { customer_id }));
      const actual = answer.headers.get("runledger-dropped");
      assertEquals([answer.status, actual], [202, "customer_id=1"], customer_id);
      const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
      assertEquals([run.customer_id, run.flags], [null, ["dropped_fields"]]);
    }
  }
});
