/** Starts, closes and their order: every way that heartbeats and runs can share an id. */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const CLOSES = { ok: "success", fail: "failed", timeout: "timeout" } as const;

async function recordOf(h: Harness) {
  return (await h.get(`/v1/runs/${runId(1)}`)).json;
}

function beat(h: Harness, fields: Record<string, unknown> = {}): Promise<Answer> {
  return h.post("/v1/heartbeats", aHeartbeat(1, fields));
}

function open(h: Harness, fields: Record<string, unknown> = {}): Promise<Answer> {
  return h.post("/v1/runs", aRun(1, { agent: "nightly", ...fields }));
}

function finish(h: Harness, fields: Record<string, unknown> = {}): Promise<Answer> {
  return h.post(`/v1/runs/${runId(1)}/finish`, aFinish(fields));
}

for (const [word, stored] of Object.entries(CLOSES)) {
  Harness.test(`decision 25: ${word} closes a start and takes its duration from it`, async (h) => {
    const started = (await beat(h, { status: "start" })).json.started_at;
    h.nowMs += 90_000;
    const closed = await beat(h, { status: word });
    assertEquals([closed.status, closed.json], [202, {
      id: runId(1),
      agent: "nightly",
      status: word,
      started_at: started,
      finished_at: at(90_000),
      received_at: at(90_000),
      cost_usd: 0,
      duration_ms: 90_000,
    }]);
    const run = await recordOf(h);
    assertEquals([run.status, run.duration_ms, run.kind], [stored, 90_000, "heartbeat"]);
    assertEquals([run.started_at, run.received_at, run.updated_at], [at(), at(), at(90_000)]);
    assertEquals(await h.usage(), 2);
  });
}

Harness.test("decision 25: a sent duration or end wins over the span since the start", async (h) => {
  await beat(h, { status: "start" });
  h.nowMs += 90_000;
  const closed = await beat(h, { finished_at: at(30_000), started_at: at() });
  assertEquals([closed.json.finished_at, closed.json.duration_ms], [at(30_000), 30_000]);
  await h.post("/v1/heartbeats", aHeartbeat(2, { status: "start" }));
  const measured = await h.post("/v1/heartbeats", aHeartbeat(2, { duration_ms: 5 }));
  assertEquals([measured.status, measured.json.duration_ms], [202, 5]);
});

Harness.test("decision 25: the close's fields win, field by field", async (h) => {
  await beat(h, {
    status: "start",
    cost_usd: 1,
    model: "m-1",
    input_tokens: 10,
    output_tokens: 20,
    cached_input_tokens: 5,
    customer_id: "c-1",
    feature: "f-1",
    output: { from: "start" },
    metadata: { stage: "start", job: "a" },
  });
  const closed = await beat(h, {
    cost_usd: 0,
    input_tokens: 0,
    feature: "f-2",
    output: { from: "close" },
    metadata: { stage: "close" },
  });
  assertEquals([closed.status, closed.json.cost_usd], [202, 0]);
  const run = await recordOf(h);
  const { input_tokens, output_tokens, cached_input_tokens } = run.usage;
  assertEquals([run.cost_usd, input_tokens, output_tokens, cached_input_tokens], [0, 0, 20, 5]);
  assertEquals([run.customer_id, run.feature, run.output], ["c-1", "f-2", { from: "close" }]);
  assertEquals([run.metadata.stage, run.metadata.job], ["close", "a"]);
});

Harness.test("decision 25: fields absent from the close keep the start's values", async (h) => {
  const metadata = { job: "a" };
  await beat(h, { status: "start", cost_usd: 1.5, input_tokens: 10, metadata, feature: "f" });
  const closed = await beat(h, { cost_usd: null, metadata: null });
  assertEquals([closed.status, closed.json.cost_usd], [202, 1.5]);
  const run = await recordOf(h);
  assertEquals([run.cost_usd, run.usage.input_tokens], [1.5, 10]);
  assertEquals([run.metadata, run.feature], [metadata, "f"]);
});

Harness.test("decision 26: after the close nothing reopens it and no other close changes it", async (h) => {
  const first = await beat(h, { status: "fail", cost_usd: 3 });
  const stored = await h.dump();
  h.nowMs += 10_000;
  for (const status of ["start", "ok", "timeout", "fail"]) {
    const late = await beat(h, { status, cost_usd: 8, metadata: { late: true } });
    assertEquals([late.status, late.text], [200, first.text]);
    assertEquals(late.headers.get("idempotent-replayed"), "true");
  }
  assertEquals(await h.dump(), stored);
  assertEquals((await recordOf(h)).status, "failed");
});

Harness.test("decision 26: a start repeated after its close returns the closed record", async (h) => {
  const started = await beat(h, { status: "start" });
  assertEquals((await beat(h, { status: "start" })).text, started.text);
  const closed = await beat(h, { status: "ok" });
  const late = await beat(h, { status: "start" });
  assertEquals([late.status, late.text], [200, closed.text]);
  assertEquals(await h.usage(), 2);
});

for (const [word, stored] of Object.entries(CLOSES)) {
  Harness.test(`decision 27: heartbeat ${word} closes a run that POST /v1/runs opened`, async (h) => {
    await open(h);
    h.nowMs += 4_000;
    const closed = await beat(h, { status: word });
    const { status, duration_ms, started_at } = closed.json;
    assertEquals([closed.status, status, duration_ms, started_at], [202, word, 4_000, at()]);
    const run = await recordOf(h);
    assertEquals([run.kind, run.status, run.duration_ms], ["run", stored, 4_000]);
    const late = await finish(h, { status: "cancelled", output: { late: true } });
    assertEquals([late.status, late.json.status, late.json.output], [200, stored, null]);
    assertEquals((await recordOf(h)).status, stored);
  });
}

const ANSWERED = { success: "ok", failed: "fail", timeout: "timeout", cancelled: "fail" };

for (const [status, answered] of Object.entries(ANSWERED)) {
  Harness.test(`decisions 27 and 28, R37: finish ${status} closes a start, read as ${answered}`, async (h) => {
    await beat(h, { status: "start" });
    assertEquals((await finish(h, { status })).status, 202);
    const late = await beat(h, { status: "timeout" });
    const { status: said, finished_at, duration_ms } = late.json;
    assertEquals([late.status, said, finished_at, duration_ms], [200, answered, at(5_000), 5_000]);
    const headers = { Accept: "application/json" };
    const ping = await h.get(`/v1/ping?id=${runId(1)}&agent=nightly`, { headers });
    assertEquals([ping.status, ping.json.status], [200, answered]);
    assertEquals((await recordOf(h)).status, status);
    assertEquals(await h.usage(), 2);
  });
}

Harness.test("decision 27: start on a run that is open is a replay of it", async (h) => {
  await open(h);
  const stored = await h.dump();
  const start = await beat(h, { status: "start", started_at: at() });
  assertEquals([start.status, start.json.status, start.json.finished_at], [200, "start", null]);
  assertEquals(await h.dump(), stored);
});

Harness.test("decision 27: only agent and started_at conflict, whichever call came first", async (h) => {
  await open(h);
  for (const fields of [{ agent: "other" }, { started_at: at(1) }]) {
    const [field] = Object.keys(fields);
    for (const status of ["start", "ok"]) {
      const response = await beat(h, { status, ...fields });
      assertEquals([response.status, response.json.error, response.json.field], [
        409,
        "id_conflict",
        field,
      ]);
    }
    await h.post("/v1/heartbeats", aHeartbeat(2, { status: "start", started_at: at() }));
    const opened = await h.post("/v1/runs", aRun(2, { agent: "nightly", ...fields }));
    assertEquals([opened.status, opened.json.error, opened.json.field], [
      409,
      "id_conflict",
      field,
    ]);
  }
});

Harness.test("decisions 16 and 27: a heartbeat opens a run whose finish came first", async (h) => {
  await finish(h, { status: "cancelled", finished_at: at(2_000) });
  const response = await beat(h, { status: "ok", cost_usd: 4 });
  const { status, finished_at, duration_ms } = response.json;
  assertEquals([response.status, status], [202, "fail"]);
  assertEquals([finished_at, duration_ms], [at(2_000), 2_000]);
  const run = await recordOf(h);
  assertEquals([run.status, run.cost_usd, run.kind], ["cancelled", 4, "heartbeat"]);
  assertEquals((await beat(h)).text, response.text);
});

for (const path of ["/v1/runs", "/v1/heartbeats"]) {
  Harness.test(`decision 16: ${path} after the finish answers alike for new and known agents`, async (h) => {
    const answers: string[] = [];
    for (const n of [1, 2]) {
      await h.post(`/v1/runs/${runId(n)}/finish`, aFinish());
      const response = await h.post(path, aRun(n, path === "/v1/runs" ? {} : { status: "start" }));
      assertEquals(response.status, 202);
      answers.push(response.text.replace(runId(n), "run"));
      const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
      assertEquals([run.status, run.started_at], ["success", at()]);
    }
    assertEquals(answers[1], answers[0]);
  });
}

Harness.test("decisions 17 and 27: events join a heartbeat's run and leave its stated cost", async (h) => {
  await beat(h, { cost_usd: 2 });
  const data = { model: "m-1", input_tokens: 1 };
  const events = [anEvent(1), anEvent(2, { type: "llm_call", data })];
  const response = await h.post(`/v1/runs/${runId(1)}/events`, { events });
  assertEquals([response.status, response.json.accepted], [202, 2]);
  const run = await recordOf(h);
  assertEquals([run.usage.events, run.cost_usd, run.cost.unpriced_models], [2, 2, []]);
});
