/** `GET /v1/runs/{id}?wait=final`: a response once every stage after the close is done. */
import { assert, assertEquals } from "@std/assert";
import { LISTENERS_MAX } from "../../domain/core/limits.ts";
import { isProcessed } from "../../domain/runs/record.ts";
import type { StoredRun } from "../../domain/runs/record.ts";
import type { RunSummary } from "../../domain/runs/summary.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { type Answer, Harness, oneInstance } from "../support/harness/harness.ts";
import { until } from "../support/harness/until.ts";

const PATH = `/v1/runs/${runId(1)}`;

Harness.test("wait=final: the response is sent once the cost is final, with everything a read returns", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const waiting = h.get(`${PATH}?wait=final&timeout=60`);
  await h.post(`${PATH}/events`, { events: [anEvent(1)] });
  await h.post(`${PATH}/finish`, aFinish());
  const answer = await waiting;
  assertEquals(answer.status, 200);
  assertEquals(answer.json.cost.state, "final");
  assertEquals(answer.json.events.length, 1);
  assertEquals(answer.text, (await h.get(PATH)).text);
});

Deno.test("wait=final: where no bell rings, the worker finds a finish by itself", async () => {
  await using h = await Harness.open({ pollsForWork: true });
  h.store.workerSignal.listen({});
  await h.post("/v1/runs", aRun(1));
  await h.post(`${PATH}/finish`, aFinish());
  assertEquals((await h.get(`${PATH}?wait=final&timeout=10`)).json.cost.state, "final");
});

Harness.test("wait=final: a completed run and an unknown one are answered immediately", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.worker.idle();
  const startMs = performance.now();
  assertEquals((await h.get(`${PATH}?wait=final`)).json.cost.state, "final");
  assertEquals((await h.get(`/v1/runs/${runId(2)}?wait=final`)).status, 404);
  // A wait would take 30 seconds.
  assert(performance.now() - startMs < 10_000);
});

Harness.test("wait=final: after its timeout it returns the current record", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const startMs = performance.now();
  const { status, json } = await h.get(`${PATH}?wait=final&timeout=1`);
  assertEquals([status, json.status, json.cost.state], [200, "running", "pending"]);
  assert(performance.now() - startMs >= 990);
});

Harness.test("wait=final: waiting requests are answered when the service stops", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const waiting = h.get(`${PATH}?wait=final&timeout=60`);
  await h.get("/healthz", { key: null });
  const startMs = performance.now();
  const restarted = h.restart();
  assertEquals((await waiting).json.status, "running");
  assert(performance.now() - startMs < 3_000);
  await restarted;
});

oneInstance.test("wait=final: the maximum of waiting requests takes no capacity from calls, and each is answered in the end", async (h) => {
  const keys = [h.key];
  while (keys.length < LISTENERS_MAX.process / LISTENERS_MAX.team) {
    keys.push((await h.addTeam("team")).key);
  }
  const waiting = [];
  let answered = 0;
  for (const key of keys) {
    await confirmed(h, "/v1/runs", aRun(1), key);
    for (let n = 0; n < LISTENERS_MAX.team; n++) {
      waiting.push(waitForFinal(h, key).finally(() => answered++));
    }
  }
  const late = (await h.addTeam("team")).key;
  await confirmed(h, "/v1/runs", aRun(1), late);
  // All of them wait once one more is refused.
  while ((await h.get(`${PATH}?wait=final&timeout=0`, { key: late })).status !== 503);
  await confirmed(h, "/v1/runs", aRun(2), h.key);
  assertEquals(answered, 0, "the call waited for capacity");
  for (const key of keys) await confirmed(h, `${PATH}/finish`, aFinish(), key);
  const states = (await Promise.all(waiting)).map(({ json }) => json.cost.state);
  assertEquals(new Set(states), new Set(["final"]));
});

Deno.test("settled: a run is done when its cost is final and each stage is done, skipped or dead", () => {
  const head = {
    parts: { opening: null, closing: { receivedAt: 0 } },
    totals: { llmCalls: 0, cost: 0n, models: [] },
    batchCount: 0,
    repricings: 0,
    ages: {},
    checks: [],
    incidents: [],
    failure: null,
  } as unknown as StoredRun;
  const summary = {
    seen: { opening: false, closing: true, batches: 0, repricings: 0 },
    revision: 1,
    listed: { kind: "run" },
  } as unknown as RunSummary;
  const failure = (tries: number) => ({ work: "checks", tries, at: 0, error: "" }) as const;
  const awaiting = { ...head, summary: { ...summary, awaitsChecks: true } } as const;
  assertEquals(isProcessed({ ...head, summary }), true);
  assertEquals(isProcessed(awaiting), false);
  assertEquals(isProcessed({ ...awaiting, failure: failure(7) }), false);
  assertEquals(isProcessed({ ...awaiting, failure: failure(8) }), true);
  assertEquals(isProcessed({ ...head, summary: null }), false);
  const deadCost = { ...failure(8), work: "cost" } as const;
  assertEquals(isProcessed({ ...head, summary: null, failure: deadCost }), false);
  assertEquals(isProcessed({ ...head, summary, parts: { opening: null, closing: null } }), false);
});

/** Sends a call until it is confirmed, which a busy machine may not do in time. */
async function confirmed(h: Harness, path: string, body: unknown, key: string): Promise<void> {
  await until(async () => {
    const { status } = await h.post(path, body, { key });
    assert(status === 202 || status === 503, String(status));
    return status === 202;
  });
}

/** Waits for the run; the probing call may have used its slot for a moment. */
async function waitForFinal(h: Harness, key: string): Promise<Answer> {
  return await until(async () => {
    const answer = await h.get(`${PATH}?wait=final&timeout=60`, { key });
    return answer.status !== 503 && answer;
  });
}
