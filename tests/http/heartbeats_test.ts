/** Heartbeats: fields, times, starts, closes and every way to share an id with a run. */
import { assertEquals, assertMatch } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness, NOON } from "../support/harness/harness.ts";
import { DERIVED_START_MS_MAX } from "../../domain/core/limits.ts";

Harness.test("contract 5: only agent is required; the server sets every default", async (h) => {
  const response = await h.post("/v1/heartbeats", { agent: "nightly" });
  assertEquals(response.status, 202);
  assertMatch(response.headers.get("content-type") ?? "", /^application\/json/);
  const { id, ...rest } = response.json;
  assertEquals(rest, {
    agent: "nightly",
    status: "ok",
    started_at: at(),
    finished_at: at(),
    received_at: at(),
    cost_usd: 0,
    duration_ms: 0,
  });
  const run = (await h.get(`/v1/runs/${id}`)).json;
  assertEquals([run.kind, run.agent, run.status], ["heartbeat", "nightly", "success"]);
  assertEquals(run.events, []);
});

for (const region of ["eu", "us"] as const) {
  Deno.test(`decision 33: a minted id is a UUIDv7 of the endpoint's region ${region}`, async () => {
    await using h = await Harness.open({ region });
    const ids = new Set<string>();
    for (let i = 0; i < 5; i++) {
      const { id } = (await h.post("/v1/heartbeats", { agent: "nightly" })).json;
      const time = NOON.toString(16).padStart(12, "0");
      assertMatch(id, new RegExp(`^run_${region}_${time}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`));
      assertEquals((await h.get(`/v1/runs/${id}`)).status, 200);
      ids.add(id);
    }
    assertEquals([ids.size, await h.usage()], [5, 5]);
  });
}

for (const [word, stored] of [["ok", "success"], ["fail", "failed"], ["timeout", "timeout"]]) {
  Harness.test(`decision 28: heartbeat ${word} answers ${word} and reads as ${stored}`, async (h) => {
    const response = await h.post("/v1/heartbeats", aHeartbeat(1, { status: word }));
    assertEquals([response.status, response.json.status], [202, word]);
    const run = (await h.getFinal(`/v1/runs/${runId(1)}`)).json;
    assertEquals([run.status, run.finished_at, run.cost.state], [stored, at(), "final"]);
  });
}

Harness.test("decisions 28 and 29: start reads as running and has no end, span or cost", async (h) => {
  const response = await h.post("/v1/heartbeats", aHeartbeat(1, { status: "start", cost_usd: 2 }));
  assertEquals([response.status, response.json], [202, {
    id: runId(1),
    agent: "nightly",
    status: "start",
    started_at: at(),
    finished_at: null,
    received_at: at(),
    cost_usd: 0,
    duration_ms: null,
  }]);
  const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
  assertEquals([run.status, run.finished_at, run.duration_ms], ["running", null, null]);
  assertEquals(run.cost.state, "pending");
});

Harness.test("decision 8: null in every optional field counts as absent", async (h) => {
  const optional = [
    ..."id status started_at finished_at cost_usd model provider input_tokens".split(" "),
    ..."output_tokens cached_input_tokens duration_ms metadata customer_id feature".split(" "),
    "output",
  ];
  const nulls = Object.fromEntries(optional.map((name) => [name, null]));
  const response = await h.post("/v1/heartbeats", { agent: "nightly", ...nulls });
  assertEquals([response.status, response.json.status, response.json.cost_usd], [202, "ok", 0]);
  for (const body of [{}, { agent: null }]) {
    const refused = await h.post("/v1/heartbeats", body);
    const { error, field } = refused.json;
    assertEquals([refused.status, error, field], [400, "missing_field", "agent"]);
  }
});

const DURATIONS = [
  { name: "sent wins", fields: { duration_ms: 7, started_at: at(-900) }, ms: 7, flags: [] },
  {
    name: "both instants",
    fields: { started_at: at(-900), finished_at: at(-100) },
    ms: 800,
    flags: [],
  },
  { name: "start alone", fields: { started_at: at(-900) }, ms: 900, flags: [] },
  { name: "0 is a duration", fields: { duration_ms: 0, started_at: at(-900) }, ms: 0, flags: [] },
  {
    name: "a negative span is zero and flagged",
    fields: { started_at: at(0), finished_at: at(-1) },
    ms: 0,
    flags: ["negative_duration"],
  },
];

for (const { name, fields, ms, flags } of DURATIONS) {
  Harness.test(`decision 30, duration of a heartbeat: ${name}`, async (h) => {
    const response = await h.post("/v1/heartbeats", aHeartbeat(1, fields));
    assertEquals([response.status, response.json.duration_ms], [202, ms]);
    const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
    assertEquals([run.duration_ms, run.flags], [ms, flags]);
  });
}

const MINUTE = 60_000;
const SKEWS = [
  { name: "60 s early is none", fields: { finished_at: at(-MINUTE) }, skew: undefined },
  { name: "more than 60 s early", fields: { finished_at: at(-MINUTE - 1) }, skew: -MINUTE - 1 },
  { name: "60 s late is none", fields: { finished_at: at(MINUTE) }, skew: undefined },
  { name: "more than 60 s late", fields: { finished_at: at(MINUTE + 1) }, skew: MINUTE + 1 },
  { name: "a long job is no skew", fields: { started_at: at(-60 * MINUTE) }, skew: undefined },
  {
    name: "a start from a clock that is ahead",
    fields: { status: "start", started_at: at(2 * MINUTE) },
    skew: 2 * MINUTE,
  },
];

for (const { name, fields, skew } of SKEWS) {
  Harness.test(`decision 31, clock skew of a heartbeat: ${name}`, async (h) => {
    assertEquals((await h.post("/v1/heartbeats", aHeartbeat(1, fields))).status, 202);
    const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
    assertEquals(run.clock_skew_ms, skew);
  });
}

const HOURS_3_MS = 3 * 3_600_000;

async function runOf(h: Harness, n: number): Promise<Answer["json"]> {
  return (await h.getFinal(`/v1/runs/${runId(n)}`)).json;
}

Harness.test("R26: duration_ms without started_at sets the start: a long job counts for the day it began", async (h) => {
  h.nowMs = Date.UTC(2026, 10, 21, 0, 5);
  const beat = { agent: "nightly", duration_ms: HOURS_3_MS, cost_usd: 1 };
  const first = await h.post("/v1/heartbeats", { id: runId(1), ...beat });
  assertEquals([first.status, first.json.started_at], [202, "2026-11-20T21:05:00.000Z"]);
  await h.get(`/v1/ping?agent=nightly&id=${runId(2)}&duration_ms=${HOURS_3_MS}&exit_code=1`);
  const ended = "2026-11-20T22:00:00.000Z";
  await h.post("/v1/heartbeats", { id: runId(3), ...beat, finished_at: ended });
  const starts = await Promise.all([1, 2, 3].map((n) => runOf(h, n)));
  assertEquals(starts.map(({ started_at }) => started_at), [
    "2026-11-20T21:05:00.000Z",
    "2026-11-20T21:05:00.000Z",
    "2026-11-20T19:00:00.000Z",
  ]);
  assertEquals(starts.map(({ clock_skew_ms }) => clock_skew_ms ?? null), [null, null, -7_500_000]);
  const { groups } = (await h.get("/v1/spend?from=2026-11-20&to=2026-11-21&group_by=day")).json;
  assertEquals(groups.map((day: Answer["json"]) => day.runs), [3, 0]);
});

Harness.test("R26, decision 24: a retry without started_at is a replay, whenever it arrives", async (h) => {
  const beat = { id: runId(1), agent: "nightly", duration_ms: HOURS_3_MS };
  const first = await h.post("/v1/heartbeats", beat);
  h.nowMs += 60_000;
  for (
    const fields of [{}, { duration_ms: 1 }, { status: "start" }, { started_at: at(-HOURS_3_MS) }]
  ) {
    const again = await h.post("/v1/heartbeats", { ...beat, ...fields });
    assertEquals([again.status, again.text], [200, first.text], JSON.stringify(fields));
  }
  const other = await h.post("/v1/heartbeats", { ...beat, started_at: at() });
  assertEquals([other.status, other.json.field], [409, "started_at"]);
});

Harness.test("R26: a start that is known wins over the duration, and so does the arrival over one of more than 31 days", async (h) => {
  const beat = { agent: "nightly", duration_ms: HOURS_3_MS };
  await h.post("/v1/heartbeats", { id: runId(1), ...beat, status: "start" });
  await h.post("/v1/runs", aRun(2, { agent: "nightly" }));
  await h.post("/v1/heartbeats", { id: runId(3), ...beat });
  assertEquals((await h.post("/v1/runs", aRun(3, { agent: "nightly" }))).status, 409);
  await h.post(`/v1/runs/${runId(4)}/finish`, aFinish());
  h.nowMs += 60_000;
  for (const n of [1, 2, 4]) await h.post("/v1/heartbeats", { id: runId(n), ...beat });
  const longest = DERIVED_START_MS_MAX;
  await h.post("/v1/heartbeats", { id: runId(5), ...beat, duration_ms: longest });
  await h.post("/v1/heartbeats", { id: runId(6), ...beat, duration_ms: longest + 1 });
  await h.get(`/v1/ping?agent=nightly&id=${runId(7)}&duration_ms=${HOURS_3_MS * 1e6}`);
  const runs = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((n) => runOf(h, n)));
  const late = at(60_000 - HOURS_3_MS);
  assertEquals(
    runs.map(({ started_at }) => started_at),
    [
      ...[at(), aRun(2).started_at, at(-HOURS_3_MS), late],
      ...[at(60_000 - longest), at(60_000), at(60_000)],
    ],
  );
  assertEquals(runs[3].clock_skew_ms, undefined);
});

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
