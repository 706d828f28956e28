/** `/v1/rate-card/reprice`: cost of stored calls by the current card. */
import { assertEquals } from "@std/assert";
import { aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const ATLAS = { provider: "in-house", model: "atlas-70b" };
const PRICE = { ...ATLAS, input_usd_per_million: 2, output_usd_per_million: 10 };

/** A closed run with one call of an unpriced model, 1,000 tokens in and 100 out. */
async function aClosedRun(h: Harness, n: number, startedAt = at(0)): Promise<void> {
  await h.post("/v1/runs", aRun(n, { started_at: startedAt }));
  const data = { ...ATLAS, input_tokens: 1_000, output_tokens: 100 };
  const events = [anEvent(1, { type: "llm_call", data, ts: startedAt })];
  await h.post(`/v1/runs/${runId(n)}/events`, { events });
  await h.post(`/v1/runs/${runId(n)}/finish`, { status: "success", finished_at: startedAt });
}

async function costOf(h: Harness, n: number) {
  await h.worker.idle();
  const { cost_usd, cost, events } = (await h.get(`/v1/runs/${runId(n)}`)).json;
  const [event] = events;
  return [cost_usd, cost.state, cost.revision, cost.unpriced_models, event?.cost_usd];
}

async function spent(h: Harness): Promise<[number, number]> {
  await h.worker.idle();
  const { totals } = (await h.get("/v1/spend?from=2026-11-01&to=2026-11-30")).json;
  return [totals.cost_usd, totals.unpriced.llm_calls];
}

Harness.test("a new price changes nothing until calls are repriced, and a dry run only reports", async (h) => {
  for (const n of [1, 2]) await aClosedRun(h, n);
  assertEquals(await costOf(h, 1), [0, "final", 1, ["atlas-70b"], 0]);
  assertEquals(await spent(h), [0, 2]);
  assertEquals((await h.request("PUT", "/v1/rate-card", { body: PRICE })).status, 202);
  assertEquals(await costOf(h, 1), [0, "final", 1, ["atlas-70b"], 0]);

  const dry = await h.post("/v1/rate-card/reprice", { model: "atlas-70b", dry_run: true });
  const { state, runs, runs_changed, llm_calls, old_cost_usd, new_cost_usd, difference_usd } =
    dry.json;
  assertEquals([dry.status, state, runs, runs_changed, llm_calls], [202, "done", 2, 2, 2]);
  assertEquals([old_cost_usd, new_cost_usd, difference_usd], [0, 0.006, 0.006]);
  assertEquals(await costOf(h, 1), [0, "final", 1, ["atlas-70b"], 0]);
  assertEquals(await spent(h), [0, 2]);

  const real = await h.post("/v1/rate-card/reprice", { model: "atlas-70b" });
  assertEquals([real.status, real.json.state, real.json.new_cost_usd], [202, "done", 0.006]);
  assertEquals(await costOf(h, 1), [0.003, "final", 2, [], 0.003]);
  assertEquals(await spent(h), [0.006, 0]);

  const again = await h.post("/v1/rate-card/reprice", { model: "atlas-70b" });
  assertEquals([again.json.runs_changed, again.json.difference_usd], [0, 0]);
  assertEquals(await costOf(h, 1), [0.003, "final", 2, [], 0.003]);
});

Harness.test("R34: of a run with a heartbeat that has tokens, the tokens are repriced and no other call", async (h) => {
  const tokens = { ...ATLAS, input_tokens: 2_000 };
  await h.post("/v1/heartbeats", aHeartbeat(1, { started_at: at(0), ...tokens }));
  await h.worker.idle();
  const data = { ...ATLAS, input_tokens: 1_000, output_tokens: 100 };
  const events = [anEvent(1, { type: "llm_call", data })];
  await h.post(`/v1/runs/${runId(1)}/events`, { events });
  assertEquals(await costOf(h, 1), [0, "final", 2, ["atlas-70b"], 0]);
  await h.request("PUT", "/v1/rate-card", { body: PRICE });
  const { json } = await h.post("/v1/rate-card/reprice", { model: "atlas-70b" });
  assertEquals([json.state, json.llm_calls, json.new_cost_usd], ["done", 1, 0.004]);
  assertEquals(await costOf(h, 1), [0.004, "final", 3, [], 0]);
  assertEquals(await spent(h), [0.004, 0]);
});
