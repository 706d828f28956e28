/** Fields of the official SDKs beyond the contract's tables (decisions, section 4). */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
const PATH = `/v1/runs/${runId(1)}`;

async function recordOf(h: Harness) {
  return (await h.get(PATH)).json;
}

function append(h: Harness, ...events: unknown[]): Promise<Answer> {
  return h.post(`${PATH}/events`, { events });
}

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
