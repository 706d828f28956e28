/** Cost of a heartbeat (pricing rules 1 to 4, decision 34). */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const TOKENS = { model: "m-1", provider: "p", input_tokens: 100, output_tokens: 10 };

async function recordOf(h: Harness) {
  return (await h.get(`/v1/runs/${runId(1)}`)).json;
}

for (const cost_usd of [0, 0.1, 12.34, 1e-12, 0.000001234567, 1e6, 1e-7]) {
  Harness.test(`pricing rule 1: cost_usd ${cost_usd} is the cost, whatever the tokens`, async (h) => {
    const response = await h.post("/v1/heartbeats", aHeartbeat(1, { cost_usd, ...TOKENS }));
    assertEquals([response.status, response.json.cost_usd], [202, cost_usd]);
    const run = await recordOf(h);
    assertEquals([run.cost_usd, run.cost.unpriced_models], [cost_usd, []]);
    assertEquals([run.usage.input_tokens, run.usage.output_tokens], [100, 10]);
  });
}

Harness.test("pricing rules 2 and 3: a model that is on no card costs 0 and is listed as unpriced", async (h) => {
  const response = await h.post(
    "/v1/heartbeats",
    aHeartbeat(1, { ...TOKENS, cached_input_tokens: 40 }),
  );
  assertEquals([response.status, response.json.cost_usd], [202, 0]);
  const run = await recordOf(h);
  assertEquals([run.cost_usd, run.cost.unpriced_models, run.cost.flags], [0, ["m-1"], []]);
  const { input_tokens, output_tokens, cached_input_tokens, llm_calls } = run.usage;
  assertEquals([input_tokens, output_tokens, cached_input_tokens, llm_calls], [100, 10, 40, 1]);
});

for (const name of ["input_tokens", "output_tokens", "cached_input_tokens"]) {
  Harness.test(`pricing rule 3: ${name} alone, also 0, makes the model a priced one`, async (h) => {
    await h.post("/v1/heartbeats", aHeartbeat(1, { model: "m-1", [name]: 0 }));
    assertEquals((await recordOf(h)).cost.unpriced_models, ["m-1"]);
  });
}

Harness.test("pricing rule 2: a model without tokens, and tokens without a model, price nothing", async (h) => {
  for (const [n, fields] of [[1, { model: "m-1" }], [2, { input_tokens: 5 }]] as const) {
    const response = await h.post("/v1/heartbeats", aHeartbeat(n, fields));
    assertEquals([response.status, response.json.cost_usd], [202, 0]);
    const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
    assertEquals([run.cost_usd, run.cost.unpriced_models], [0, []]);
  }
});

Harness.test("decisions, section 5: more cached than input tokens are accepted and flagged", async (h) => {
  const tokens = { model: "m-1", input_tokens: 1, cached_input_tokens: 2 };
  assertEquals((await h.post("/v1/heartbeats", aHeartbeat(1, tokens))).status, 202);
  assertEquals((await recordOf(h)).cost.flags, ["cached_exceeds_input"]);
});

Harness.test("pricing rule 4: cost_usd of a finish is ignored, the start's stays", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { status: "start", cost_usd: 2 }));
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ cost_usd: 9 }));
  assertEquals((await recordOf(h)).cost_usd, 2);
});

Harness.test("R38: a heartbeat's tokens are one model call and no event in the record, in spend and in each group", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { ...TOKENS, status: "start" }));
  const log = anEvent(1, { type: "log", data: { message: "hello" } });
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [log] });
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.post("/v1/heartbeats", aHeartbeat(2, TOKENS));
  await h.worker.idle();
  const counts = ({ events, llm_calls }: Answer["json"]) => [events, llm_calls];
  assertEquals(counts((await recordOf(h)).usage), [1, 1]);
  const listed = (await h.get("/v1/runs")).json.runs;
  assertEquals(listed.map(({ usage }: Answer["json"]) => counts(usage)), [[0, 1], [1, 1]]);
  for (const group of ["day", "agent", "customer", "feature", "status", "model"]) {
    const { totals, groups } = (await h.get(`/v1/spend?group_by=${group}`)).json;
    assertEquals(counts(totals), [1, 2], group);
    const all: number[][] = groups.map(counts);
    assertEquals([0, 1].map((n) => all.reduce((sum, one) => sum + (one[n] ?? 0), 0)), [1, 2]);
    if (group === "model") assertEquals(all.toSorted(), [[0, 2], [1, 0]]);
  }
});
