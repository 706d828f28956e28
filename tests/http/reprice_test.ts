/** `/v1/rate-card/reprice`: cost of stored calls by the current card. */
import { assert, assertEquals } from "@std/assert";
import {
  aClosedRun,
  aModelCall,
  ATLAS,
  costOf,
  daysAgo,
  putPrice,
  REPRICE,
  reprice,
  resultOf,
  runOf,
  sendEvents,
  spent,
} from "../support/builders/reprice.ts";
import { aFinish, aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { EVENTS_PER_BATCH_MAX, RUN_MODELS_MAX } from "../../domain/core/limits.ts";
import { verifyStore } from "../../kv/integrity/integrity.ts";

/** Returns cost, revision and unpriced models of a run, and the cost of its first event. */
async function priceOf(h: Harness, n: number) {
  const { cost_usd, cost, events: [event] } = await runOf(h, n);
  return [cost_usd, cost.state, cost.revision, cost.unpriced_models, event?.cost_usd];
}

Harness.test("a new price changes nothing until calls are repriced, and a dry run only reports", async (h) => {
  for (const n of [1, 2]) await aClosedRun(h, n);
  assertEquals(await priceOf(h, 1), [0, "final", 1, ["atlas-70b"], 0]);
  assertEquals(await spent(h), [0, 2]);
  await putPrice(h);
  assertEquals(await priceOf(h, 1), [0, "final", 1, ["atlas-70b"], 0]);

  const { runs, runs_changed, llm_calls, old_cost_usd, new_cost_usd, difference_usd } =
    await reprice(h, { dry_run: true });
  assertEquals([runs, runs_changed, llm_calls], [2, 2, 2]);
  assertEquals([old_cost_usd, new_cost_usd, difference_usd], [0, 0.006, 0.006]);
  assertEquals(await priceOf(h, 1), [0, "final", 1, ["atlas-70b"], 0]);
  assertEquals(await spent(h), [0, 2]);

  assertEquals((await reprice(h)).new_cost_usd, 0.006);
  assertEquals(await priceOf(h, 1), [0.003, "final", 2, [], 0.003]);
  assertEquals(await spent(h), [0.006, 0]);

  const again = await reprice(h);
  assertEquals([again.runs_changed, again.difference_usd], [0, 0]);
  assertEquals(await priceOf(h, 1), [0.003, "final", 2, [], 0.003]);
});

Harness.test("R34: of a run with a heartbeat that has tokens, the tokens are repriced and no other call", async (h) => {
  const tokens = { ...ATLAS, input_tokens: 2_000 };
  await h.post("/v1/heartbeats", aHeartbeat(1, { started_at: at(0), ...tokens }));
  await h.worker.idle();
  await sendEvents(h, 1, aModelCall(1));
  assertEquals(await priceOf(h, 1), [0, "final", 2, ["atlas-70b"], 0]);
  await putPrice(h);
  const job = await reprice(h);
  assertEquals([job.llm_calls, job.new_cost_usd], [1, 0.004]);
  assertEquals(await priceOf(h, 1), [0.004, "final", 3, [], 0]);
  assertEquals(await spent(h), [0.004, 0]);
});

/** True for a dump line of a job, the version of a team's jobs, or a job's audit log entry. */
function isJob(line: string): boolean {
  return /^\[\s*"(reprice|audit_log)"/.test(line);
}

function isNoJob(line: string): boolean {
  return !isJob(line);
}

/** Fails unless all derived data agrees with the runs' parts. */
async function assertExact(h: Harness): Promise<void> {
  await h.worker.idle();
  assertEquals((await verifyStore(h.store)).differences, []);
}

Harness.test("a dry run changes only the keys of its jobs", async (h) => {
  for (const n of [1, 2, 3]) await aClosedRun(h, n);
  await h.post("/v1/heartbeats", aHeartbeat(4, { ...ATLAS, input_tokens: 1_000 }));
  await putPrice(h);
  const before = await h.dump();
  const dry = await reprice(h, { dry_run: true });
  assertEquals(resultOf(dry), [4, 4, 4, 0, 0.011]);
  const after = await h.dump();
  assertEquals(after.filter(isNoJob), before.filter(isNoJob));
  assert(after.some(isJob));
});

Harness.test("new prices reach runs, their events, spend by day and model, and the unpriced list", async (h) => {
  await aClosedRun(h, 1);
  await aClosedRun(h, 2, [aModelCall(1), aModelCall(2, { model: "other-model" })]);
  assertEquals(await spent(h), [0, 3]);
  const row = await putPrice(h);
  assertEquals(resultOf(await reprice(h)), [2, 2, 2, 0, 0.006]);
  assertEquals(await costOf(h, 1), [0.003, 2, []]);
  assertEquals(await costOf(h, 2), [0.003, 2, ["other-model"]]);
  const [event] = (await runOf(h, 1)).events;
  assertEquals([event.cost_usd, event.priced_by], [0.003, row]);
  assertEquals(await spent(h), [0.006, 1]);
  const byModel = new Map(await spent(h, "model") as [string, number][]);
  assertEquals([...byModel.values()].sort(), [0, 0.006]);
  const unpriced = (await h.getFinal("/v1/spend/unpriced?from=2026-11-01&to=2026-11-30")).json;
  const names = unpriced.models.map(({ model }: { model: string }) => model);
  assertEquals(names, ["other-model"]);
  await assertExact(h);

  const before = await h.dump();
  assertEquals(resultOf(await reprice(h)), [2, 2, 0, 0.006, 0.006]);
  assertEquals(
    (await h.dump()).filter((line) => !isJob(line)),
    before.filter((line) => !isJob(line)),
  );
});

Harness.test("heartbeats and pings priced by tokens are repriced, those with a stated cost never", async (h) => {
  const tokens = { ...ATLAS, input_tokens: 1_000, output_tokens: 100 };
  await h.post("/v1/heartbeats", aHeartbeat(1, tokens));
  await h.post("/v1/heartbeats", aHeartbeat(2, { ...tokens, cost_usd: 0.5 }));
  await h.post("/v1/heartbeats", aHeartbeat(3, { ...tokens, cost_usd: 0 }));
  const query = new URLSearchParams({
    id: runId(4),
    agent: "nightly",
    ...Object.fromEntries(Object.entries(tokens).map(([name, value]) => [name, `${value}`])),
  });
  assertEquals((await h.get(`/v1/ping?${query}`)).status < 300, true);
  // Whatever a run reports, its events determine its cost.
  await h.post("/v1/runs", { ...aRun(5), ...tokens, cost_usd: 9 });
  // A heartbeat's stated cost covers the calls inside it.
  await sendEvents(h, 2, aModelCall(1));
  const stated = await Promise.all([runOf(h, 2), runOf(h, 3), runOf(h, 5)]);
  await putPrice(h);
  assertEquals(resultOf(await reprice(h)), [2, 2, 2, 0, 0.006]);
  assertEquals(await costOf(h, 1), [0.003, 2, []]);
  assertEquals(await costOf(h, 4), [0.003, 2, []]);
  assertEquals(await Promise.all([runOf(h, 2), runOf(h, 3), runOf(h, 5)]), stated);
  assertEquals(await spent(h), [0.506, 0]);
  await assertExact(h);
});

Harness.test("tokens reported by a closing heartbeat are priced separately, also after its opening was repriced", async (h) => {
  const start = aHeartbeat(1, { ...ATLAS, status: "start", input_tokens: 1_000 });
  await h.post("/v1/heartbeats", start);
  await putPrice(h);
  assertEquals(resultOf(await reprice(h)), [1, 1, 1, 0, 0.002]);
  assertEquals((await runOf(h, 1)).cost_usd, 0.002);
  await h.post("/v1/heartbeats", aHeartbeat(1, { ...ATLAS, input_tokens: 5_000 }));
  assertEquals((await runOf(h, 1)).cost_usd, 0.01);
  await assertExact(h);
  await putPrice(h, { input_usd_per_million: 1 });
  assertEquals(resultOf(await reprice(h)), [1, 1, 1, 0.01, 0.005]);
  assertEquals((await runOf(h, 1)).cost_usd, 0.005);
  await assertExact(h);
});

Harness.test("a finish keeps the new price of a repriced heartbeat", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { ...ATLAS, status: "start", input_tokens: 1_000 }));
  await putPrice(h);
  await reprice(h);
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  assertEquals(await costOf(h, 1), [0.002, 1, []]);
  await assertExact(h);
});

Harness.test("only runs that started at or after `from` and before `to` are repriced", async (h) => {
  const starts = [daysAgo(3), daysAgo(2, -1), daysAgo(2), daysAgo(1), daysAgo(0, -1), daysAgo(0)];
  for (const [n, started_at] of starts.entries()) await aClosedRun(h, n, undefined, { started_at });
  await putPrice(h);
  const range = { from: daysAgo(2), to: daysAgo(0) };
  assertEquals(resultOf(await reprice(h, { ...range, dry_run: true })), [3, 3, 3, 0, 0.009]);
  assertEquals(resultOf(await reprice(h, range)), [3, 3, 3, 0, 0.009]);
  const costs = await Promise.all(starts.map(async (_, n) => (await runOf(h, n)).cost_usd));
  assertEquals(costs, [0, 0, 0.003, 0.003, 0.003, 0]);
  assertEquals(resultOf(await reprice(h, { to: daysAgo(2) })), [2, 2, 2, 0, 0.006]);
  assertEquals(resultOf(await reprice(h, { from: daysAgo(0) })), [1, 1, 1, 0, 0.003]);
  assertEquals(resultOf(await reprice(h, { from: daysAgo(-1) })), [0, 0, 0, 0, 0]);
  assertEquals(await spent(h), [0.018, 0]);
  await assertExact(h);
});

Harness.test("a provider selects calls; without one each call of a run counts once", async (h) => {
  const providers = ["in-house", "in-cloud", undefined];
  await aClosedRun(h, 1, providers.map((provider, n) => aModelCall(n, { provider })));
  await aClosedRun(h, 2, [aModelCall(1, { provider: "in-cloud" })]);
  await putPrice(h);
  const cloud = { provider: "in-cloud" };
  assertEquals(resultOf(await reprice(h, { ...cloud, dry_run: true })), [2, 2, 2, 0, 0.006]);
  assertEquals(resultOf(await reprice(h, { dry_run: true })), [4, 2, 2, 0, 0.012]);
  assertEquals(resultOf(await reprice(h, cloud)), [2, 2, 2, 0, 0.006]);
  assertEquals(await costOf(h, 1), [0.003, 2, ["atlas-70b"]]);
  assertEquals(resultOf(await reprice(h)), [4, 2, 1, 0.006, 0.012]);
  assertEquals(await costOf(h, 1), [0.009, 3, []]);
  assertEquals(resultOf(await reprice(h, { provider: "nobody" })), [0, 0, 0, 0, 0]);
  await assertExact(h);
});

Harness.test("the model is matched exactly as calls named it, and other models of a run keep their price", async (h) => {
  await putPrice(h, { model: "neighbour" });
  const names = ["atlas-70b", "ATLAS-70B", "atlas-70b-2026-01-01", "neighbour"];
  await aClosedRun(h, 1, names.map((model, n) => aModelCall(n, { model })));
  await putPrice(h);
  // Another price for the neighboring model, which no job applies.
  await putPrice(h, { model: "neighbour", input_usd_per_million: 50 });
  assertEquals(resultOf(await reprice(h)), [1, 1, 1, 0, 0.003]);
  const { events, cost } = await runOf(h, 1);
  const costs = events.map(({ cost_usd }: { cost_usd: number }) => cost_usd);
  assertEquals(costs, [0.003, 0, 0, 0.003]);
  assertEquals(cost.unpriced_models, ["ATLAS-70B", "atlas-70b-2026-01-01"]);
  await assertExact(h);
});

Harness.test("each call is priced by the row in force at its own instant, and by its own tier", async (h) => {
  const long = aModelCall(3, { input_tokens: 10_000, output_tokens: 0 }, { ts: daysAgo(0) });
  const before = aModelCall(1, {}, { ts: daysAgo(1, -1) });
  const from = aModelCall(2, {}, { ts: daysAgo(1) });
  await aClosedRun(h, 1, [long, before, from]);
  const tiers = [{
    above_input_tokens: 9_999,
    input_usd_per_million: 4,
    output_usd_per_million: 20,
  }];
  await putPrice(h, { effective_from: daysAgo(1), tiers });
  assertEquals(resultOf(await reprice(h)), [3, 1, 1, 0, 0.043]);
  const { events, cost, cost_usd } = await runOf(h, 1);
  const costs = events.map(({ cost_usd }: { cost_usd: number }) => cost_usd);
  assertEquals(costs, [0, 0.003, 0.04]);
  assertEquals([cost_usd, cost.unpriced_models], [0.043, ["atlas-70b"]]);
  assertEquals(await spent(h), [0.043, 1]);
  await assertExact(h);
});

Harness.test("calls whose row was deleted become unpriced at no cost", async (h) => {
  const id = await putPrice(h);
  await aClosedRun(h, 1);
  await h.post("/v1/heartbeats", aHeartbeat(2, { ...ATLAS, input_tokens: 1_000 }));
  assertEquals(await spent(h), [0.005, 0]);
  await h.request("DELETE", `/v1/rate-card/${id}`);
  assertEquals(await spent(h), [0.005, 0]);
  const job = await reprice(h);
  assertEquals(resultOf(job), [2, 2, 2, 0.005, 0]);
  assertEquals(job.difference_usd, -0.005);
  assertEquals(await costOf(h, 1), [0, 2, ["atlas-70b"]]);
  assertEquals(await costOf(h, 2), [0, 2, ["atlas-70b"]]);
  const [event] = (await runOf(h, 1)).events;
  assertEquals([event.cost_usd, event.priced_by], [0, null]);
  assertEquals(await spent(h), [0, 2]);
  await assertExact(h);
});

Harness.test("a run with more models than it lists is found, and its sum stays exact", async (h) => {
  const models = Array.from({ length: RUN_MODELS_MAX + 4 }, (_, n) => `model-${10 + n}`);
  await aClosedRun(h, 1, models.map((model, n) => aModelCall(n, { model })));
  let paid = 0;
  for (const model of [models.at(-1), models[0], models[RUN_MODELS_MAX - 1]]) {
    await putPrice(h, { model });
    assertEquals(resultOf(await reprice(h, { model })), [1, 1, 1, 0, 0.003], model);
    paid = Math.round((paid + 0.003) * 1e6) / 1e6;
    assertEquals((await runOf(h, 1)).cost_usd, paid);
    assertEquals(await spent(h), [paid, models.length - Math.round(paid / 0.003)]);
  }
  const names = await spent(h, "model") as [{ model: string }, number][];
  assertEquals(names.length, RUN_MODELS_MAX);
});

Harness.test("a run of more than 50 batches gets one more revision, and each of its pages has the new prices", async (h) => {
  const batches = 120;
  await h.post("/v1/runs", aRun(1));
  for (let n = 0; n < batches; n++) await sendEvents(h, 1, aModelCall(n));
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  assertEquals((await runOf(h, 1)).cost.revision, 1);
  await putPrice(h);
  const job = await reprice(h);
  assertEquals(resultOf(job), [batches, 1, 1, 0, 0.36]);
  const run = await runOf(h, 1);
  assertEquals([run.cost_usd, run.cost.revision, run.events.length], [0.36, 2, batches]);
  assert(run.events.every(({ cost_usd }: { cost_usd: number }) => cost_usd === 0.003));
  await assertExact(h);
});

Harness.test("a run whose calls are all in its last batches counts as changed", async (h) => {
  await h.post("/v1/runs", aRun(1));
  for (let n = 0; n < 60; n++) await sendEvents(h, 1, aModelCall(n, { model: "another" }));
  await sendEvents(
    h,
    1,
    ...Array.from({ length: EVENTS_PER_BATCH_MAX }, (_, n) => aModelCall(n + 60)),
  );
  await putPrice(h);
  assertEquals(resultOf(await reprice(h)), [50, 1, 1, 0, 0.15]);
});

Harness.test("a later batch is priced by the new row, and not again by the next job", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await sendEvents(h, 1, aModelCall(1));
  await putPrice(h);
  await reprice(h);
  await sendEvents(h, 1, aModelCall(2), aModelCall(3));
  await sendEvents(h, 1, aModelCall(1));
  assertEquals((await runOf(h, 1)).cost_usd, 0.009);
  assertEquals(resultOf(await reprice(h)), [3, 1, 0, 0.009, 0.009]);
  const { cost_usd, events } = await runOf(h, 1);
  assertEquals([cost_usd, events.length], [0.009, 3]);
  await assertExact(h);
});

Harness.test("calls that arrive while the job is running leave an exact sum", async (h) => {
  const runs = 60;
  for (let n = 0; n < runs; n++) await aClosedRun(h, n);
  await putPrice(h);
  const started = h.post(REPRICE, { model: ATLAS.model });
  const late = Promise.all(Array.from({ length: runs }, (_, n) => sendEvents(h, n, aModelCall(2))));
  await late;
  // The job may take longer than its request waits for it.
  const { id } = (await started).json;
  await h.work.idle();
  await h.worker.idle();
  const job = (await h.get(`${REPRICE}/${id}`)).json;
  assertEquals([job.state, job.runs, job.runs_changed], ["done", runs, runs]);
  assertEquals(await spent(h), [0.36, 0]);
  await assertExact(h);
});
