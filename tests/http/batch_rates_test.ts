/** Calls in batches pay the card's batch rates, or the full rates if the card has none. */
import { assertEquals } from "@std/assert";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import { anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const TOKENS = { input_tokens: 1_000, output_tokens: 100 };
const RUN = `/v1/runs/${runId(1)}`;
const ATLAS = { model: "atlas-70b", input_usd_per_million: 3, output_usd_per_million: 10 };

async function storeCall(h: Harness, data: Record<string, unknown>) {
  await h.post("/v1/runs", aRun(1));
  const events = [anEvent(1, { type: "llm_call", data: { ...TOKENS, ...data } })];
  assertEquals((await h.post(`${RUN}/events`, { events })).status, 202);
  return await read(h);
}

async function read(h: Harness) {
  await h.worker.idle();
  const { cost_usd, flags, events: [event] } = (await h.get(RUN)).json;
  const { calls: [call] } = (await h.get(`${RUN}/cost`)).json;
  assertEquals(event.cost_usd, cost_usd);
  assertEquals((await verifyStore(h.store)).differences, []);
  return { cost: cost_usd, flags, isBatch: call.batch_rates, lines: call.lines };
}

async function put(h: Harness, fields: object) {
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
  await put(h, {});
  const full = await storeCall(h, { model: "atlas-70b", mode: "batch" });
  assertEquals([full.cost, full.flags, full.isBatch], [0.004, ["batch_rate_missing"], false]);
  assertEquals((await h.get("/v1/runs")).json.runs[0].flags, ["batch_rate_missing"]);
});

Harness.test("R12: repricing uses the row's current batch rate", async (h) => {
  await put(h, {});
  await storeCall(h, { model: "atlas-70b", mode: "batch" });
  assertEquals((await put(h, { batch_percent: 25 })).json.batch_percent, 25);
  await h.post("/v1/rate-card/reprice", { model: "atlas-70b" });
  const quarter = await read(h);
  assertEquals([quarter.cost, quarter.flags, quarter.isBatch], [0.001, [], true]);
  // The same cost from a row without a batch rate is a different price.
  const cheap = { input_usd_per_million: 0.75, output_usd_per_million: 2.5 };
  await put(h, cheap);
  await h.post("/v1/rate-card/reprice", { model: "atlas-70b" });
  const plain = await read(h);
  assertEquals([plain.cost, plain.flags], [0.001, ["batch_rate_missing"]]);
});

Harness.test("R12: a batch rate gives integer picodollars, tiers included, and replays", async (h) => {
  const tiers = [{ above_input_tokens: 10, ...ATLAS, model: undefined, input_usd_per_million: 1 }];
  for (const status of [202, 200]) {
    assertEquals((await put(h, { batch_percent: 50, tiers })).status, status);
  }
  assertEquals((await put(h, { batch_percent: 40, tiers })).status, 202);
  const odd = { input_usd_per_million: 0.000001 };
  for (const fields of [odd, { tiers: [{ ...tiers[0], ...odd }] }]) {
    const { status, json } = await put(h, { ...fields, batch_percent: 50 });
    assertEquals([status, json.error, json.field], [400, "invalid_field", "batch_percent"]);
  }
  for (const batch_percent of [-1, 101, 0.5, "50"]) {
    assertEquals((await put(h, { batch_percent })).json.field, "batch_percent");
  }
});

Harness.test("R12: the card shows the batch rates of default rows", async (h) => {
  const of = async (model: string) =>
    (await h.get(`/v1/rate-card/match?model=${model}`)).json.row.batch_percent;
  assertEquals(await of("gpt-4o"), 50);
  assertEquals(await of("mistral-large-2512"), null);
});
