/**
 * Unreadable metrics of model calls cause no refusal: the event, the run and the pages show them.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import { anEvent, aRun, runId } from "../support/builders/requests.ts";
import { signedIn } from "../support/harness/dashboard.ts";
import { Harness } from "../support/harness/harness.ts";

const GPT = { provider: "openai", model: "gpt-4o" };
const RUN = `/v1/runs/${runId(1)}`;

/** Stores a run with model calls, and reads it. */
async function storeCalls(h: Harness, ...datas: Record<string, unknown>[]) {
  await h.post("/v1/runs", aRun(1));
  const events = datas.map((data, n) => anEvent(n, { type: "llm_call", data }));
  assertEquals((await h.post(`${RUN}/events`, { events })).status, 202);
  await h.worker.idle();
  return (await h.get(RUN)).json;
}

Harness.test("R3: an unreadable metric is ignored, and named on the event and the run", async (h) => {
  const data = { ...GPT, input_tokens: "1000", output_tokens: -1, latency_ms: "soon" };
  const run = await storeCalls(h, data, { ...GPT, input_tokens: 1, output_tokens: 1 });
  const [event, other] = run.events;
  assertEquals([event.data, event.unreadable], [data, ["output_tokens", "latency_ms"]]);
  assert(!("unreadable" in other));
  assertEquals([event.cost_usd, run.usage.input_tokens], [0.0025, 1_001]);
  assertEquals(run.flags, ["unreadable_figures"]);
  assertEquals((await h.get("/v1/runs")).json.runs[0].flags, ["unreadable_figures"]);
  assertEquals((await verifyStore(h.store)).differences, []);
});

Harness.test("R3: data of any other event type may contain anything", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const events = [anEvent(1, { data: { message: 7 } }), anEvent(2, { data: { message: {} } })];
  assertEquals((await h.post(`${RUN}/events`, { events })).status, 202);
  assertEquals((await h.get(RUN)).json.flags, []);
});

Harness.test("R5: a call without token counts is flagged and explained, and not unpriced", async (h) => {
  const run = await storeCalls(h, { model: "nobody-knows", latency_ms: 5 });
  assertEquals([run.flags, run.cost.unpriced_models], [["no_tokens"], []]);
  assertEquals([run.cost_usd, run.usage.llm_calls], [0, 1]);
  const { by_model, calls: [call] } = (await h.get(`${RUN}/cost`)).json;
  assertEquals([by_model.length, by_model[0].priced, call.unpriced], [1, false, false]);
  const reader = await signedIn(h);
  assertStringIncludes(
    (await reader.get(`/dashboard/runs/${runId(1)}?event=${run.events[0].id}`)).text,
    "No cost: this call has no token counts",
  );
  assertEquals((await verifyStore(h.store)).differences, []);
});

Harness.test("R8: a long model name is cut, and the run is flagged", async (h) => {
  const data = { model: "m".repeat(300), provider: 7, input_tokens: 1, output_tokens: 1 };
  const run = await storeCalls(h, data);
  assertEquals([run.events[0].data, run.flags], [data, ["truncated"]]);
  assertEquals(run.cost.unpriced_models, ["m".repeat(256)]);
  assertEquals((await h.get(`${RUN}/cost`)).json.by_model[0].provider, "7");
  assertEquals((await verifyStore(h.store)).differences, []);
});

Harness.test("R4: fields missing from the contract's names are read from the provider's response", async (h) => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
  const run = await storeCalls(
    h,
    { ...GPT, cached_input_tokens: 0, usage },
    { ...GPT, output_tokens: 0, usage },
    { ...GPT, input_tokens: 1_000, usage },
  );
  // $2.50 and $10 per million.
  const costs = run.events.map(({ cost_usd }: { cost_usd: number }) => cost_usd);
  assertEquals(costs, [0.0035, 0.0025, 0.0035]);
  assertEquals((await verifyStore(h.store)).differences, []);
});
