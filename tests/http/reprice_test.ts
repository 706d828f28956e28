/** `/v1/rate-card/reprice`: cost of stored calls by the current card. */
import { assertEquals } from "@std/assert";
import {
  aClosedRun,
  aModelCall,
  ATLAS,
  putPrice,
  reprice,
  runOf,
  sendEvents,
  spent,
} from "../support/builders/reprice.ts";
import { aHeartbeat, at } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

/** Returns cost, revision and unpriced models of a run, and the cost of its first event. */
async function costOf(h: Harness, n: number) {
  const { cost_usd, cost, events: [event] } = await runOf(h, n);
  return [cost_usd, cost.state, cost.revision, cost.unpriced_models, event?.cost_usd];
}

Harness.test("a new price changes nothing until calls are repriced, and a dry run only reports", async (h) => {
  for (const n of [1, 2]) await aClosedRun(h, n);
  assertEquals(await costOf(h, 1), [0, "final", 1, ["atlas-70b"], 0]);
  assertEquals(await spent(h), [0, 2]);
  await putPrice(h);
  assertEquals(await costOf(h, 1), [0, "final", 1, ["atlas-70b"], 0]);

  const { runs, runs_changed, llm_calls, old_cost_usd, new_cost_usd, difference_usd } =
    await reprice(h, { dry_run: true });
  assertEquals([runs, runs_changed, llm_calls], [2, 2, 2]);
  assertEquals([old_cost_usd, new_cost_usd, difference_usd], [0, 0.006, 0.006]);
  assertEquals(await costOf(h, 1), [0, "final", 1, ["atlas-70b"], 0]);
  assertEquals(await spent(h), [0, 2]);

  assertEquals((await reprice(h)).new_cost_usd, 0.006);
  assertEquals(await costOf(h, 1), [0.003, "final", 2, [], 0.003]);
  assertEquals(await spent(h), [0.006, 0]);

  const again = await reprice(h);
  assertEquals([again.runs_changed, again.difference_usd], [0, 0]);
  assertEquals(await costOf(h, 1), [0.003, "final", 2, [], 0.003]);
});

Harness.test("R34: of a run with a heartbeat that has tokens, the tokens are repriced and no other call", async (h) => {
  const tokens = { ...ATLAS, input_tokens: 2_000 };
  await h.post("/v1/heartbeats", aHeartbeat(1, { started_at: at(0), ...tokens }));
  await h.worker.idle();
  await sendEvents(h, 1, aModelCall(1));
  assertEquals(await costOf(h, 1), [0, "final", 2, ["atlas-70b"], 0]);
  await putPrice(h);
  const job = await reprice(h);
  assertEquals([job.llm_calls, job.new_cost_usd], [1, 0.004]);
  assertEquals(await costOf(h, 1), [0.004, "final", 3, [], 0]);
  assertEquals(await spent(h), [0.004, 0]);
});
