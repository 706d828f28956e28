/** `GET /v1/runs/{id}`: the exact record of every kind of run (decisions, section 6). */
import { assertEquals, assertMatch } from "@std/assert";
import type { RunId } from "../../domain/core/ids.ts";
import { keys } from "../../kv/base/keys.ts";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  at,
  eventId,
  runId,
} from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;

/** A run with only an opening: the base of the other records. */
const OPEN = {
  id: runId(1),
  kind: "run",
  agent: "researcher",
  status: "running",
  closed_by: null,
  started_at: at(),
  finished_at: null,
  received_at: at(),
  updated_at: at(),
  duration_ms: null,
  flags: [],
  customer_id: null,
  feature: null,
  metadata: null,
  goal: null,
  output: null,
  note: null,
  cost_usd: 0,
  cost: { state: "pending", revision: 0, unpriced_models: [], flags: [] },
  cost_with_children_usd: 0,
  usage: {
    events: 0,
    llm_calls: 0,
    tool_calls: 0,
    logs: 0,
    errors: 0,
    input_tokens: 0,
    output_tokens: 0,
    cached_input_tokens: 0,
  },
  scores: [],
  events: [],
  events_cursor: null,
  checks: [],
  judge_results: [],
  incidents: [],
  links: { parent: null, children: [] },
  processing: [],
};

const FINAL = { state: "final", revision: 1, unpriced_models: [], flags: [] };

/** Stages of a closed run whose cost is final. */
function processed(ms = 0, isCounted = false) {
  const skipped = { state: "skipped", attempts: 0, at: at(ms) };
  return [
    { stage: "cost", state: "done", attempts: 1, at: at(ms) },
    { stage: "checks", ...skipped },
    isCounted
      ? { stage: "alerts", state: "done", attempts: 1, at: at(ms) }
      : { stage: "alerts", ...skipped },
    { stage: "judge", ...skipped },
  ];
}

async function recordOf(h: Harness) {
  return (await h.getFinal(PATH)).json;
}

Harness.test("section 6: the record of an open run, field by field in the documented order", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const response = await h.get(PATH);
  assertEquals(response.status, 200);
  assertMatch(response.headers.get("content-type") ?? "", /^application\/json/);
  assertEquals(response.json, OPEN);
  assertEquals(Object.keys(response.json), Object.keys(OPEN));
});

Harness.test("section 6: the record of a run with every field", async (h) => {
  await h.post(
    "/v1/runs",
    aRun(1, {
      customer_id: "acme",
      feature: "search",
      metadata: { env: "test" },
      goal: "find it",
      parent_run_id: runId(9),
    }),
  );
  h.nowMs += 1_000;
  const call = { model: "m-1", input_tokens: 10, output_tokens: 2, cached_input_tokens: 4 };
  const batch = [
    anEvent(1, { type: "llm_call", ts: at(300), data: { ...call, cost_usd: 99 } }),
    anEvent(2, { type: "tool_call", ts: at(200), data: { name: "grep", error: "no match" } }),
    anEvent(3, { type: "log", ts: at(100), data: { message: "begun" }, turn: 2 }),
    anEvent(4, { type: "custom.step", ts: at(100), data: {} }),
  ];
  await h.post(`${PATH}/events`, { events: batch });
  h.nowMs += 1_000;
  const scores = { quality: 0.75, passed: true, "10": 3 };
  await h.post(`${PATH}/finish`, aFinish({ output: { answer: 42 }, scores }));
  const received_at = at(1_000);
  const { incidents, ...record } = await recordOf(h);
  // Its model has no price.
  assertEquals(incidents.length, 1);
  assertEquals({ ...record, incidents: [] }, {
    ...OPEN,
    status: "success",
    closed_by: "finish",
    finished_at: at(5_000),
    updated_at: at(2_000),
    duration_ms: 5_000,
    customer_id: "acme",
    feature: "search",
    metadata: { env: "test" },
    goal: "find it",
    output: { answer: 42 },
    cost: { ...FINAL, unpriced_models: ["m-1"] },
    usage: {
      events: 4,
      llm_calls: 1,
      tool_calls: 1,
      logs: 1,
      errors: 1,
      input_tokens: 10,
      output_tokens: 2,
      cached_input_tokens: 4,
    },
    scores: [
      { name: "10", value: 3, source: "self" },
      { name: "quality", value: 0.75, source: "self" },
      { name: "passed", value: true, source: "self" },
    ],
    events: [
      {
        id: eventId(3),
        type: "log",
        ts: at(100),
        received_at,
        turn: 2,
        data: { message: "begun" },
      },
      { id: eventId(4), type: "custom.step", ts: at(100), received_at, data: {} },
      { id: eventId(2), type: "tool_call", ts: at(200), received_at, data: batch[1]?.data },
      {
        id: eventId(1),
        type: "llm_call",
        ts: at(300),
        received_at,
        data: batch[0]?.data,
        cost_usd: 0,
        priced_by: null,
      },
    ],
    links: { parent: runId(9), children: [] },
    processing: processed(2_000, true),
  } as unknown);
});

Harness.test("section 6: the record of a heartbeat and of a ping's note", async (h) => {
  await h.post(
    "/v1/heartbeats",
    aHeartbeat(1, {
      status: "fail",
      started_at: at(-2_000),
      cost_usd: 0.5,
      input_tokens: 3,
      metadata: { host: "a" },
      output: { code: 1 },
    }),
  );
  const beat = {
    ...OPEN,
    kind: "heartbeat",
    agent: "nightly",
    status: "failed",
    closed_by: "heartbeat",
    started_at: at(-2_000),
    finished_at: at(),
    duration_ms: 2_000,
    metadata: { host: "a" },
    output: { code: 1 },
    cost_usd: 0.5,
    cost_with_children_usd: 0.5,
    cost: FINAL,
    usage: { ...OPEN.usage, input_tokens: 3 },
    processing: processed(0, true),
  };
  assertEquals(await recordOf(h), beat);
  await h.get(`/v1/ping?agent=cron&id=${runId(2)}&metadata=all+well`);
  assertEquals((await h.getFinal(`/v1/runs/${runId(2)}`)).json, {
    ...OPEN,
    id: runId(2),
    kind: "heartbeat",
    agent: "cron",
    status: "success",
    closed_by: "heartbeat",
    finished_at: at(),
    duration_ms: 0,
    note: "all well",
    cost: FINAL,
    processing: processed(),
  });
});

Harness.test("section 6: the record of a start without a close", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { status: "start" }));
  assertEquals(await recordOf(h), { ...OPEN, kind: "heartbeat", agent: "nightly" });
});

const ORPHAN = { ...OPEN, agent: null, started_at: null, flags: ["no_opening"] };

Harness.test("decision 18: the record of events without an opening", async (h) => {
  await h.post(`${PATH}/events`, { events: [anEvent(1)] });
  const run = await recordOf(h);
  const logged = { id: eventId(1), type: "log", ts: at(1), received_at: at() };
  assertEquals(run, {
    ...ORPHAN,
    usage: { ...OPEN.usage, events: 1, logs: 1 },
    events: [{ ...logged, data: { message: "line 1" } }],
  });
});

Harness.test("decisions 16 and 18: the record of a finish without an opening", async (h) => {
  await h.post(`${PATH}/finish`, aFinish({ scores: { a: 1 } }));
  assertEquals(await recordOf(h), {
    ...ORPHAN,
    status: "success",
    closed_by: "finish",
    finished_at: at(5_000),
    cost: FINAL,
    scores: [{ name: "a", value: 1, source: "self" }],
    processing: processed(),
  } as unknown);
});

Harness.test("section 6: the record names the incidents of the run, the oldest first", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const key = keys.runIncidents(h.team.id, runId(1) as RunId);
  const ids = ["1", "2"].map((last) => `inc_eu_${last.padStart(32, "0")}`);
  await h.store.writer.commit({ team: h.team.id, sets: [{ key, value: ids }] });
  assertEquals((await h.get(PATH)).json, { ...OPEN, incidents: ids });
});

Harness.test("decision 17: a batch in the same millisecond as the close, but after it, is late", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`${PATH}/finish`, aFinish());
  assertEquals((await recordOf(h)).cost, FINAL);
  await h.post(`${PATH}/events`, { events: [anEvent(1)] });
  assertEquals((await recordOf(h)).cost, { ...FINAL, revision: 2 });
});

Harness.test("decision 30: a run that ended before it began has no duration and is flagged", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`${PATH}/finish`, aFinish({ finished_at: at(-1) }));
  const run = (await h.get(PATH)).json;
  assertEquals([run.duration_ms, run.flags], [0, ["negative_duration"]]);
});
