/** Fields of the official SDKs beyond the contract's tables (decisions, section 4). */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const SDK = { headers: { "User-Agent": "agentping-python/1.4.2" } };
const PATH = `/v1/runs/${runId(1)}`;

async function recordOf(h: Harness) {
  return (await h.get(PATH)).json;
}

function append(h: Harness, ...events: unknown[]): Promise<Answer> {
  return h.post(`${PATH}/events`, { events });
}

Harness.test("section 4: a run keeps its parent, goal, customer and feature", async (h) => {
  const response = await h.post(
    "/v1/runs",
    aRun(1, {
      parent_run_id: runId(7, "us"),
      goal: "Find the ö in the haystack\nand report",
      idle_timeout_seconds: 60,
      idle_timeout_status: "timeout",
      customer_id: "acme",
      feature: "search",
      sdk_version: "1.4.2",
    }),
  );
  assertEquals(response.status, 202);
  const names = ["id", "agent", "started_at", "received_at", "status"];
  assertEquals(Object.keys(response.json), names);
  const run = await recordOf(h);
  assertEquals(run.links, { parent: runId(7, "us"), children: [] });
  assertEquals(run.goal, "Find the ö in the haystack\nand report");
  assertEquals([run.customer_id, run.feature, run.status], ["acme", "search", "running"]);
});

for (const seconds of [60, 61, 86_399, 86_400]) {
  Harness.test(`section 4: idle_timeout_seconds ${seconds} is accepted`, async (h) => {
    const response = await h.post("/v1/runs", aRun(1, { idle_timeout_seconds: seconds }));
    assertEquals(response.status, 202);
  });
}

for (const seconds of [0, 59, 86_401, -60, 60.5, "60", true]) {
  Harness.test(`R9: idle_timeout_seconds ${JSON.stringify(seconds)} is dropped and reported`, async (h) => {
    const answer = await h.post("/v1/runs", aRun(1, { idle_timeout_seconds: seconds }));
    const actual = answer.headers.get("runledger-dropped");
    assertEquals([answer.status, actual], [202, "idle_timeout_seconds=1"]);
    assertEquals((await recordOf(h)).flags, ["dropped_fields"]);
  });
}

Harness.test("section 4: labels of a finish join those of the run, the later ones winning", async (h) => {
  await h.post("/v1/runs", aRun(1, { metadata: { env: "test", step: 1 } }));
  const response = await h.post(`${PATH}/finish`, aFinish({ metadata: { step: 2, done: true } }));
  assertEquals(response.status, 202);
  assertEquals((await recordOf(h)).metadata, { env: "test", step: 2, done: true });
});

Harness.test("section 4: a heartbeat keeps customer, feature and output", async (h) => {
  const output = { rows: 12, note: "ü", nested: { deep: [1, null] } };
  const body = aHeartbeat(1, { customer_id: "acme", feature: "backup", output });
  assertEquals((await h.post("/v1/heartbeats", body)).status, 202);
  const run = await recordOf(h);
  assertEquals([run.customer_id, run.feature, run.output], ["acme", "backup", output]);
});

Harness.test("section 4: an event keeps its turn, and one without a turn has none", async (h) => {
  await append(h, anEvent(1, { turn: 1 }), anEvent(2, { turn: 40 }), anEvent(3, { turn: null }));
  const turns = (await recordOf(h)).events.map((event: { turn?: number }) => event.turn);
  assertEquals(turns, [1, 40, undefined]);
  const bad = await append(h, anEvent(4, { turn: "2" }));
  assertEquals([bad.status, bad.headers.get("runledger-dropped")], [202, "turn=1"]);
});

Harness.test("section 4: further fields of an llm_call are kept as sent and its errors counted", async (h) => {
  const data = {
    provider: "acme",
    model: "m-1",
    input_tokens: 10,
    output_tokens: 5,
    latency_ms: 90,
    cached_input_tokens: 4,
    cache_creation_input_tokens: 2,
    reasoning_tokens: 3,
    status: "error",
    error: { message: "overloaded" },
    prompt: ["kept", { as: "sent" }],
  };
  const fine = { ...data, status: "ok", error: null };
  await append(
    h,
    anEvent(1, { type: "llm_call", data }),
    anEvent(2, { type: "llm_call", data: fine }),
    anEvent(3, { type: "llm_call", data: { error: "timeout" } }),
  );
  const run = await recordOf(h);
  assertEquals(run.events[0].data, data);
  assertEquals(run.events[1].data, fine);
  const { llm_calls, errors, input_tokens, output_tokens, cached_input_tokens } = run.usage;
  assertEquals([llm_calls, errors], [3, 2]);
  assertEquals([input_tokens, output_tokens, cached_input_tokens], [20, 10, 8]);
});

for (const field of ["cache_creation_input_tokens", "reasoning_tokens"]) {
  Harness.test(`R3: ${field} of an llm_call is a count, or named as unreadable`, async (h) => {
    const values = [-1, 0.5, "one", 2 ** 53, 0, "1"];
    for (const [n, value] of values.entries()) {
      const data = { input_tokens: 5, [field]: value };
      assertEquals((await append(h, anEvent(n, { type: "llm_call", data }))).status, 202);
    }
    const { events } = await recordOf(h);
    const named = events.map(({ unreadable = [] }: { unreadable?: string[] }) => unreadable);
    assertEquals(named, [[field], [field], [field], [field], [], []]);
  });
}

Harness.test("section 4: an SDK's failed is a heartbeat's fail, its error a finish's failed", async (h) => {
  const beat = await h.post("/v1/heartbeats", aHeartbeat(1, { status: "failed" }), SDK);
  assertEquals([beat.status, beat.json.status], [202, "fail"]);
  assertEquals((await recordOf(h)).status, "failed");
  const path = `/v1/runs/${runId(2)}`;
  const finish = await h.post(`${path}/finish`, aFinish({ status: "error" }), SDK);
  assertEquals([finish.status, finish.json.status], [202, "failed"]);
  assertEquals((await h.get(path)).json.status, "failed");
});

for (const agent of ["curl/8.5.0", "my-agentping-python/1", "AgentPing-python/1", "agentping"]) {
  Harness.test(`section 4: for User-Agent ${agent} the words are strict`, async (h) => {
    const options = { headers: { "User-Agent": agent } };
    const before = await h.dump();
    const beat = await h.post("/v1/heartbeats", aHeartbeat(1, { status: "failed" }), options);
    assertEquals([beat.status, beat.json.error, beat.json.field], [400, "invalid_field", "status"]);
    const finish = await h.post(`${PATH}/finish`, aFinish({ status: "error" }), options);
    assertEquals([finish.status, finish.json.field], [400, "status"]);
    assertEquals(await h.dump(), before);
  });
}
