/** Cost of calls in events, heartbeats, pings and batches (pricing rules 1 to 4). */
import { assertEquals } from "@std/assert";
import { reprice } from "../support/builders/reprice.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import { verifyStore } from "../../kv/integrity/integrity.ts";

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

Harness.test("decisions, section 5: the row in force at an event's ts and at a heartbeat's start prices it", async (h) => {
  for (const [effective_from, usd] of [[at(0), 1], [at(10), 2]] as const) {
    const rates = { input_usd_per_million: usd, output_usd_per_million: usd };
    await h.request("PUT", "/v1/rate-card", { body: { ...GPT, effective_from, ...rates } });
  }
  // All of them arrive after both rows are in force.
  h.nowMs += 60_000;
  const instants = [at(-1), at(9), at(10)], costs = [2.5, 1, 2];
  const tokens = { input_tokens: 1_000_000, output_tokens: 0 };
  const events = instants.map((ts, n) => aCall(n, tokens, ts));
  await h.post(`/v1/runs/${runId(1)}/events`, { events });
  const stored: { cost_usd: number }[] = (await recordOf(h)).events;
  assertEquals(stored.map(({ cost_usd }) => cost_usd), costs);
  for (const [n, started_at] of instants.entries()) {
    const beat = aHeartbeat(10 + n, { ...GPT, ...tokens, started_at });
    assertEquals((await h.post("/v1/heartbeats", beat)).json.cost_usd, costs[n]);
  }
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

const REPORT = { model: "m-1", provider: "p", input_tokens: 100, output_tokens: 10 };

Harness.test("pricing rule 1: cost_usd is the cost, whatever the tokens", async (h) => {
  for (const [n, cost_usd] of [0, 0.1, 12.34, 1e-12, 0.000001234567, 1e6, 1e-7].entries()) {
    const { json } = await h.post("/v1/heartbeats", aHeartbeat(n, { cost_usd, ...REPORT }));
    assertEquals(json.cost_usd, cost_usd);
    const run = await recordOf(h, n);
    assertEquals([run.cost_usd, run.cost.unpriced_models], [cost_usd, []]);
    assertEquals([run.usage.input_tokens, run.usage.output_tokens], [100, 10]);
  }
});

Harness.test("pricing rule 3: any number of tokens, also 0, makes the model a priced one", async (h) => {
  for (const [n, name] of ["input_tokens", "output_tokens", "cached_input_tokens"].entries()) {
    await h.post("/v1/heartbeats", aHeartbeat(n, { model: "m-1", [name]: 0 }));
    assertEquals((await recordOf(h, n)).cost.unpriced_models, ["m-1"], name);
  }
});

Harness.test("pricing rule 2: a model without tokens, and tokens without a model, price nothing", async (h) => {
  for (const [n, fields] of [[1, { model: "m-1" }], [2, { input_tokens: 5 }]] as const) {
    const response = await h.post("/v1/heartbeats", aHeartbeat(n, fields));
    assertEquals([response.status, response.json.cost_usd], [202, 0]);
    const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
    assertEquals([run.cost_usd, run.cost.unpriced_models], [0, []]);
  }
});

Harness.test("pricing rule 4: cost_usd of a finish is ignored, the start's stays", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { status: "start", cost_usd: 2 }));
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ cost_usd: 9 }));
  assertEquals((await recordOf(h)).cost_usd, 2);
});

Harness.test("R38: a heartbeat's tokens are one model call and no event in the record, in spend and in each group", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { ...REPORT, status: "start" }));
  const log = anEvent(1, { type: "log", data: { message: "hello" } });
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [log] });
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.post("/v1/heartbeats", aHeartbeat(2, REPORT));
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

const RUN = `/v1/runs/${runId(1)}`;
const ATLAS = { model: "atlas-70b", input_usd_per_million: 3, output_usd_per_million: 10 };

async function storeCall(h: Harness, data: Record<string, unknown>) {
  await h.post("/v1/runs", aRun(1));
  const events = [anEvent(1, { type: "llm_call", data: { ...TOKENS, ...data } })];
  assertEquals((await h.post(`${RUN}/events`, { events })).status, 202);
  return await readCall(h);
}

async function readCall(h: Harness) {
  await h.worker.idle();
  const { cost_usd, flags, events: [event] } = (await h.get(RUN)).json;
  const { calls: [call] } = (await h.get(`${RUN}/cost`)).json;
  assertEquals(event.cost_usd, cost_usd);
  assertEquals((await verifyStore(h.store)).differences, []);
  return { cost: cost_usd, flags, isBatch: call.batch_rates, lines: call.lines };
}

async function putAtlas(h: Harness, fields: object) {
  return await h.request("PUT", "/v1/rate-card", { body: { ...ATLAS, ...fields } });
}

Deno.test("R12: a call in a batch costs half at OpenAI, Anthropic and Google", async () => {
  // Full price: 1,000 tokens in and 100 out.
  const models = [["gpt-4o", 0.0035], ["claude-sonnet-4-5", 0.0045], ["gemini-2.5-flash", 0.00055]];
  for (const [model, full] of models as [string, number][]) {
    await using h = await Harness.open();
    const half = await storeCall(h, { model, mode: "batch" });
    assertEquals([half.cost, half.flags, half.isBatch], [full / 2, [], true], model);
  }
});

Harness.test("R12: the lines of a batch call use its batch rates", async (h) => {
  const { lines } = await storeCall(h, { model: "gpt-4o", mode: "batch" });
  assertEquals(lines, [
    { kind: "input", tokens: 1_000, usd_per_million: 1.25, cost_usd: 0.00125 },
    { kind: "output", tokens: 100, usd_per_million: 5, cost_usd: 0.0005 },
  ]);
});

Harness.test("R12: without a batch rate a call pays the full rate, and its run is flagged", async (h) => {
  await putAtlas(h, {});
  const full = await storeCall(h, { model: "atlas-70b", mode: "batch" });
  assertEquals([full.cost, full.flags, full.isBatch], [0.004, ["batch_rate_missing"], false]);
  assertEquals((await h.get("/v1/runs")).json.runs[0].flags, ["batch_rate_missing"]);
});

Harness.test("R12: repricing uses the row's current batch rate", async (h) => {
  await putAtlas(h, {});
  await storeCall(h, { model: "atlas-70b", mode: "batch" });
  assertEquals((await putAtlas(h, { batch_percent: 25 })).json.batch_percent, 25);
  await reprice(h, { model: "atlas-70b" });
  const quarter = await readCall(h);
  assertEquals([quarter.cost, quarter.flags, quarter.isBatch], [0.001, [], true]);
  // The same cost from a row without a batch rate is a different price.
  const cheap = { input_usd_per_million: 0.75, output_usd_per_million: 2.5 };
  await putAtlas(h, cheap);
  await reprice(h, { model: "atlas-70b" });
  const plain = await readCall(h);
  assertEquals([plain.cost, plain.flags], [0.001, ["batch_rate_missing"]]);
});

Harness.test("R12: a batch rate gives integer picodollars, tiers included, and replays", async (h) => {
  const tiers = [{ above_input_tokens: 10, ...ATLAS, model: undefined, input_usd_per_million: 1 }];
  for (const status of [202, 200]) {
    assertEquals((await putAtlas(h, { batch_percent: 50, tiers })).status, status);
  }
  assertEquals((await putAtlas(h, { batch_percent: 40, tiers })).status, 202);
  const odd = { input_usd_per_million: 0.000001 };
  for (const fields of [odd, { tiers: [{ ...tiers[0], ...odd }] }]) {
    const { status, json } = await putAtlas(h, { ...fields, batch_percent: 50 });
    assertEquals([status, json.error, json.field], [400, "invalid_field", "batch_percent"]);
  }
  for (const batch_percent of [-1, 101, 0.5, "50"]) {
    assertEquals((await putAtlas(h, { batch_percent })).json.field, "batch_percent");
  }
});

Harness.test("R12: the card shows the batch rates of default rows", async (h) => {
  const of = async (model: string) =>
    (await h.get(`/v1/rate-card/match?model=${model}`)).json.row.batch_percent;
  assertEquals(await of("gpt-4o"), 50);
  assertEquals(await of("mistral-large-2512"), null);
});
