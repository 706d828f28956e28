/** `GET /v1/runs/{id}/cost` of heartbeats: their report is a separate call. */
import { assertEquals } from "@std/assert";
import { aHeartbeat, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import {
  aCall,
  assertAddsUp,
  ATLAS,
  onlyCall,
  PATH,
  putPrice,
  sendEvents,
} from "../support/oracles/run_cost.ts";

Harness.test("cost of a heartbeat: its tokens are a separate call, on the first page only", async (h) => {
  const row = await putPrice(h, ATLAS);
  const tokens = { model: "atlas", input_tokens: 10, output_tokens: 20, cached_input_tokens: 4 };
  await sendEvents(h, aCall(1, { model: "atlas", input_tokens: 8 }), aCall(2, { model: "x" }));
  await h.post("/v1/heartbeats", aHeartbeat(1, { started_at: at(-5), ...tokens }));
  const { json } = await h.get(`${PATH}?events_limit=1`);
  assertEquals(json.kind, "heartbeat");
  assertEquals(json.calls.length, 2);
  const { lines, ...own } = json.calls[0];
  assertEquals(own, {
    event_id: null,
    ts: at(-5),
    provider: null,
    model: "atlas",
    cost_usd: 0.000216,
    stated: false,
    match: "exact",
    row: { id: row, source: "own", effective_from: null },
    batch_rates: false,
    tier_above_input_tokens: null,
    unpriced: false,
    flags: [],
  });
  assertEquals(lines.map((line: Answer["json"]) => [line.kind, line.tokens]), [
    ["input", 6],
    ["cached_input", 4],
    ["output", 20],
  ]);
  assertEquals((await assertAddsUp(h, 1)).length, 3);
});

Harness.test("cost of a heartbeat: a stated cost replaces all others, also the run's calls", async (h) => {
  await putPrice(h, ATLAS);
  const tokens = { model: "atlas", input_tokens: 1, cached_input_tokens: 2 };
  await h.post("/v1/heartbeats", aHeartbeat(1, { cost_usd: 1.25, ...tokens }));
  await sendEvents(h, aCall(1, { model: "atlas", input_tokens: 8 }));
  const calls = (await h.get(PATH)).json.calls;
  assertEquals(calls.length, 2);
  assertEquals(
    [calls[0].event_id, calls[0].stated, calls[0].cost_usd, calls[0].row, calls[0].lines],
    [null, true, 1.25, null, []],
  );
  assertEquals(calls[0].flags, ["cached_exceeds_input"]);
  assertEquals(
    [calls[1].stated, calls[1].cost_usd, calls[1].unpriced, calls[1].flags],
    [false, 0, false, ["covered_by_stated_cost"]],
  );
  await assertAddsUp(h);
});

Harness.test("R34: calls that the tokens of a heartbeat cover are priced, with a model or without", async (h) => {
  await putPrice(h, ATLAS);
  await h.post("/v1/heartbeats", aHeartbeat(1, { model: "atlas", input_tokens: 10 }));
  await sendEvents(h, aCall(1, { model: "x", input_tokens: 8 }), aCall(2, { input_tokens: 5 }));
  const { json } = await h.get(PATH);
  assertEquals(
    json.by_model.map((line: Answer["json"]) => [line.model, line.priced, line.cost_usd]),
    [["atlas", true, 0.000025], ["x", true, 0], [null, true, 0]],
  );
  assertEquals((await assertAddsUp(h)).length, 3);
});

Harness.test("cost of a heartbeat: a cost stated without a model belongs to none", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { cost_usd: 0.000000000001, input_tokens: 3 }));
  const { json } = await h.get(PATH);
  assertEquals(json.by_model, [{
    provider: null,
    model: null,
    priced: true,
    llm_calls: 0,
    input_tokens: 3,
    output_tokens: 0,
    cached_input_tokens: 0,
    cost_usd: 0.000000000001,
  }]);
  assertEquals([json.calls[0].model, json.calls[0].stated], [null, true]);
  await assertAddsUp(h);
});

Harness.test("cost of a heartbeat: a model without a price is unpriced, one without tokens is not a call", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { model: "nobody-knows", input_tokens: 9 }));
  const call = await onlyCall(h);
  assertEquals([call.unpriced, call.cost_usd, call.lines, call.row], [true, 0, [], null]);
  await h.post("/v1/heartbeats", aHeartbeat(2, { model: "nobody-knows" }));
  assertEquals((await h.get(`/v1/runs/${runId(2)}/cost`)).json.calls, []);
});
