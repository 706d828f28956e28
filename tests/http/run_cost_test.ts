/** `GET /v1/runs/{id}/cost`: tokens times rate for each call, which add up to the run's cost. */
import { assert, assertEquals } from "@std/assert";
import { reprice } from "../support/builders/reprice.ts";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  at,
  eventId,
  runId,
} from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import {
  aCall,
  assertAddsUp,
  ATLAS,
  onlyCall,
  PATH,
  putPrice,
  sendEvents,
  TIERED,
} from "../support/oracles/run_cost.ts";

Harness.test("cost of a run: each kind of token is a line at the rate of the row that priced it", async (h) => {
  const row = await putPrice(h, ATLAS);
  await h.post("/v1/runs", aRun(1));
  const data = {
    provider: "acme",
    model: "atlas",
    input_tokens: 1_000,
    cached_input_tokens: 200,
    cache_creation_input_tokens: 100,
    output_tokens: 50,
  };
  await sendEvents(h, aCall(1, data));
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  await h.worker.idle();
  const { status, headers, json } = await h.get(PATH);
  assertEquals([status, headers.get("content-type")], [200, "application/json"]);
  const cost = 0.0026125;
  assertEquals(json, {
    id: runId(1),
    kind: "run",
    cost_usd: cost,
    cost: { state: "final", revision: 1, unpriced_models: [], flags: [] },
    by_model: [{
      provider: "acme",
      model: "atlas",
      priced: true,
      llm_calls: 1,
      input_tokens: 1_000,
      output_tokens: 50,
      cached_input_tokens: 200,
      cost_usd: cost,
    }],
    calls: [{
      event_id: eventId(1),
      ts: at(1),
      provider: "acme",
      model: "atlas",
      cost_usd: cost,
      stated: false,
      match: "exact",
      row: { id: row, source: "own", effective_from: null },
      batch_rates: false,
      tier_above_input_tokens: null,
      lines: [
        { kind: "input", tokens: 700, usd_per_million: 2.5, cost_usd: 0.00175 },
        { kind: "cached_input", tokens: 200, usd_per_million: 0.25, cost_usd: 0.00005 },
        { kind: "cache_write", tokens: 100, usd_per_million: 3.125, cost_usd: 0.0003125 },
        { kind: "output", tokens: 50, usd_per_million: 10, cost_usd: 0.0005 },
      ],
      unpriced: false,
      flags: [],
    }],
    events_cursor: null,
  });
  await assertAddsUp(h);
});

Harness.test("cost of a run: a call beyond a tier names the tier whose rates apply", async (h) => {
  const row = await putPrice(h, TIERED);
  await sendEvents(
    h,
    aCall(1, { model: "tiered", input_tokens: 100, output_tokens: 1 }),
    aCall(2, { model: "tiered", input_tokens: 101, output_tokens: 1 }),
    aCall(3, { model: "tiered", input_tokens: 60, cached_input_tokens: 61, output_tokens: 0 }),
  );
  const { json } = await h.get(PATH);
  const reported = json.calls.map((call: Answer["json"]) => [
    call.tier_above_input_tokens,
    call.lines.map((line: Answer["json"]) => line.usd_per_million),
    call.flags,
  ]);
  assertEquals(reported, [
    [null, [2.5, 10], []],
    [100, [5, 20], []],
    // More cached than input tokens are counted separately: 121 in total.
    [100, [5, 5], ["cached_exceeds_input"]],
  ]);
  const effective_from = TIERED.effective_from;
  assertEquals(json.calls[0].row, { id: row, source: "own", effective_from });
  assertEquals(json.cost.flags, ["cached_exceeds_input"]);
  await assertAddsUp(h);
});

Harness.test("cost of a run: a default row and the step that found it are named", async (h) => {
  const data = { model: "openai/gpt-4o-mini", input_tokens: 1_000_000 };
  await sendEvents(h, aCall(1, data));
  const call = await onlyCall(h);
  const result = await h.get(`/v1/rate-card/match?model=${data.model}&at=${at(1)}`);
  assertEquals([call.match, call.row.source], ["provider_prefix", "default"]);
  assertEquals(call.row.id, result.json.row.id);
  assert(call.cost_usd > 0);
});

Harness.test("cost of a run: repriced calls are explained by their current row", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await sendEvents(h, aCall(1, { model: "atlas", input_tokens: 4 }), aCall(2, { model: "x" }));
  await h.post("/v1/heartbeats", aHeartbeat(2, { model: "atlas", input_tokens: 6 }));
  const row = await putPrice(h, ATLAS);
  await reprice(h, { model: "atlas" });
  const rowsOf = async () => {
    const answers = await Promise.all([1, 2].map((n) => h.get(`/v1/runs/${runId(n)}/cost`)));
    return answers.flatMap(({ json }) => json.calls)
      .map(({ row, cost_usd, unpriced }) => [row?.id ?? null, cost_usd, unpriced]);
  };
  assertEquals(await rowsOf(), [
    [row, 0.00001, false],
    [null, 0, false],
    [row, 0.000015, false],
  ]);
  await assertAddsUp(h);
  await h.request("DELETE", `/v1/rate-card/${row}`);
  await reprice(h, { model: "atlas" });
  assertEquals(await rowsOf(), [[null, 0, true], [null, 0, false], [null, 0, true]]);
  await assertAddsUp(h);
});

Harness.test("cost of a run: unpriced calls are named, calls without model or tokens have nothing to price", async (h) => {
  await putPrice(h, ATLAS);
  await sendEvents(
    h,
    aCall(1, { model: "nobody-knows", provider: "acme", input_tokens: 7 }),
    aCall(2, { model: "atlas" }),
    aCall(3, { input_tokens: 5, output_tokens: 3 }),
    anEvent(4),
  );
  const calls = (await h.get(PATH)).json.calls;
  const reported = calls.map((call: Answer["json"]) => [
    call.provider,
    call.model,
    call.unpriced,
    call.row,
    call.lines,
  ]);
  assertEquals(reported, [
    ["acme", "nobody-knows", true, null, []],
    [null, "atlas", false, null, []],
    [null, null, false, null, []],
  ]);
  const { by_model, cost } = (await h.get(PATH)).json;
  assertEquals(cost.unpriced_models, ["nobody-knows"]);
  assertEquals(by_model.map((line: Answer["json"]) => [line.model, line.priced, line.llm_calls]), [
    ["atlas", false, 1],
    ["nobody-knows", false, 1],
    [null, false, 1],
  ]);
  await assertAddsUp(h);
});

Harness.test("cost of a run: its pages match those of the run, and their calls add up", async (h) => {
  await putPrice(h, ATLAS);
  await putPrice(h, TIERED);
  const events = Array.from({ length: 40 }, (_, n) =>
    n % 4 === 3 ? anEvent(n) : aCall(n, {
      model: n % 2 === 0 ? "atlas" : "tiered",
      input_tokens: 37 * n + 1,
      output_tokens: 13 * n,
      cached_input_tokens: 5 * n,
    }));
  await sendEvents(h, ...events.slice(20));
  await sendEvents(h, ...events.slice(0, 20));
  for (const limit of [1, 7, 40, 1_000]) assertEquals((await assertAddsUp(h, limit)).length, 30);

  const page = (await h.get(`/v1/runs/${runId(1)}?events_limit=7`)).json;
  const cost = (await h.get(`${PATH}?events_limit=7`)).json;
  assertEquals(cost.events_cursor, page.events_cursor);
  assertEquals(cost.calls.length, 6);
  // The fourth event is not a call: the page is empty and the cursor continues.
  const third = (await h.get(`${PATH}?events_limit=3`)).json;
  const fourth = (await h.get(`${PATH}?events_limit=1&events_cursor=${third.events_cursor}`)).json;
  assertEquals(fourth.calls, []);
  assert(fourth.events_cursor !== null);
  const more = (await h.get(`${PATH}?events_limit=1&events_cursor=${fourth.events_cursor}`)).json;
  assertEquals(more.calls[0].event_id, eventId(4));
});

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
