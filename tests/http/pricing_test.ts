/** Cost of calls by the rate card: in events, heartbeats and pings (pricing rules 2 and 4). */
import { assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

/** $2.50 and $10 per million, cached at $1.25: the default card. */
const GPT = { provider: "openai", model: "gpt-4o" };
const TOKENS = { input_tokens: 1_000, output_tokens: 100 };
const COST = 0.0035;
const ROW = "default/openai/gpt-4o";

async function recordOf(h: Harness, n = 1) {
  await h.worker.idle();
  return (await h.get(`/v1/runs/${runId(n)}`)).json;
}

function aCall(n: number, data: Record<string, unknown>, ts = at(n)) {
  return anEvent(n, { type: "llm_call", ts, data: { ...GPT, ...data } });
}

Harness.test("pricing rule 4: each call of a run carries its cost and the row that priced it", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const events = [
    aCall(1, TOKENS),
    aCall(2, { ...TOKENS, cached_input_tokens: 400, cost_usd: 7 }),
    aCall(3, { ...TOKENS, model: "atlas-70b" }),
    aCall(4, {}),
    anEvent(5),
  ];
  await h.post(`/v1/runs/${runId(1)}/events`, { events });
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  const run = await recordOf(h);
  assertEquals(
    run.events.map((event: Record<string, unknown>) => [event.cost_usd, event.priced_by]),
    [[COST, ROW], [0.003, ROW], [0, null], [0, null], [undefined, undefined]],
  );
  assertEquals([run.cost_usd, run.cost.unpriced_models], [0.0065, ["atlas-70b"]]);
  assertEquals([run.cost.state, run.cost.revision], ["final", 1]);
});

Harness.test("pricing rule 2: a heartbeat and a ping with tokens return their cost immediately", async (h) => {
  const beat = aHeartbeat(1, { ...GPT, ...TOKENS });
  for (const status of [202, 200]) {
    const response = await h.post("/v1/heartbeats", beat);
    assertEquals([response.status, response.json.cost_usd], [status, COST]);
  }
  const query = new URLSearchParams({ agent: "nightly", id: runId(2), ...GPT });
  for (const [name, tokens] of Object.entries(TOKENS)) query.set(name, String(tokens));
  for (const _ of ["first", "again"]) {
    const headers = { Accept: "application/json" };
    assertEquals((await h.get(`/v1/ping?${query}`, { headers })).json.cost_usd, COST);
  }
  for (const n of [1, 2]) assertEquals((await recordOf(h, n)).cost_usd, COST);
});

Harness.test("decision 25: a start and its close are priced by their combined reports", async (h) => {
  const start = await h.post("/v1/heartbeats", aHeartbeat(1, { ...GPT, status: "start" }));
  assertEquals(start.json.cost_usd, 0);
  const close = await h.post("/v1/heartbeats", aHeartbeat(1, TOKENS));
  assertEquals(close.json.cost_usd, COST);
  // A finish reports nothing: the start's report determines the cost.
  await h.post("/v1/heartbeats", aHeartbeat(2, { ...GPT, ...TOKENS, status: "start" }));
  await h.post(`/v1/runs/${runId(2)}/finish`, aFinish());
  // Out of order: the finish first, then the heartbeat that opens the run.
  await h.post(`/v1/runs/${runId(3)}/finish`, aFinish());
  await h.post("/v1/heartbeats", aHeartbeat(3, { ...GPT, ...TOKENS }));
  for (const n of [1, 2, 3]) assertEquals((await recordOf(h, n)).cost_usd, COST, `run ${n}`);
});

Harness.test("decisions, section 5: an event is priced by the row in force at its ts", async (h) => {
  const put = (effective_from: string, usd: number) =>
    h.request("PUT", "/v1/rate-card", {
      body: { ...GPT, effective_from, input_usd_per_million: usd, output_usd_per_million: usd },
    });
  await put(at(0), 1);
  await put(at(10), 2);
  const tokens = { input_tokens: 1_000_000, output_tokens: 0 };
  const events = [aCall(1, tokens, at(-1)), aCall(2, tokens, at(9)), aCall(3, tokens, at(10))];
  await h.post(`/v1/runs/${runId(1)}/events`, { events });
  const costs = (await recordOf(h)).events.map((event: { cost_usd: number }) => event.cost_usd);
  assertEquals(costs, [2.5, 1, 2]);
});

Harness.test("decisions, section 5: a heartbeat is priced by the row in force at its start", async (h) => {
  for (const [effective_from, usd] of [[at(0), 1], [at(10), 2]] as const) {
    const rates = { input_usd_per_million: usd, output_usd_per_million: usd };
    await h.request("PUT", "/v1/rate-card", { body: { ...GPT, effective_from, ...rates } });
  }
  // All of them arrive after both rows are in force.
  h.nowMs += 60_000;
  const costs: number[] = [];
  for (const [n, started_at] of [at(-1), at(9), at(10)].entries()) {
    const input = aHeartbeat(n, { ...GPT, input_tokens: 1_000_000, output_tokens: 0, started_at });
    costs.push((await h.post("/v1/heartbeats", input)).json.cost_usd);
  }
  assertEquals(costs, [2.5, 1, 2]);
});

Harness.test("a changed card prices later calls, and no stored call", async (h) => {
  const send = (n: number) => h.post(`/v1/runs/${runId(1)}/events`, { events: [aCall(n, TOKENS)] });
  await send(1);
  const body = { ...GPT, input_usd_per_million: 0, output_usd_per_million: 1 };
  await h.request("PUT", "/v1/rate-card", { body });
  await send(2);
  // A retry of the first is a duplicate, whatever the card contains now.
  await send(1);
  const run = await recordOf(h);
  const costs = run.events.map((event: { cost_usd: number }) => event.cost_usd);
  assertEquals([costs, run.cost_usd], [[COST, 0.0001], 0.0036]);
});

Harness.test("decision 17: a late call is priced, and the cost becomes final again", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  assertEquals((await recordOf(h)).cost, {
    state: "final",
    revision: 1,
    unpriced_models: [],
    flags: [],
  });
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [aCall(1, TOKENS)] });
  const { cost_usd, cost: { state, revision } } = await recordOf(h);
  assertEquals([cost_usd, state, revision], [COST, "final", 2]);
});
