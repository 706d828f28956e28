/** A judge over three instances on one shared KV: one of them works, and another takes over. */
import { assert, assertEquals } from "@std/assert";
import { runId } from "../../support/builders/requests.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { judged, ModelServer } from "../../support/fakes/model_server.ts";
import { answer } from "../../support/fakes/receiver.ts";
import { Harness } from "../../support/harness/harness.ts";
import { BODY, PRICE } from "../../support/harness/judges.ts";

/** Runs of a round, a third through each instance. */
const RUNS = 9;

Deno.test("judges: three instances judge each run once, also after the one that works has left", async () => {
  await using stack = new AsyncDisposableStack();
  const kv = stack.use(await KvServer.start());
  const server = stack.use(new ModelServer());
  const open = () => Harness.open({ kv: kv.url(), models: server.models(Date.now) });
  const all = [await open(), await open(), await open()];
  stack.defer(async () => {
    for (const each of all) await each[Symbol.asyncDispose]();
  });
  const put = async (path: string, body: object) => {
    const [first] = all;
    assert((await first?.request("PUT", path, { body }))?.status === 202, path);
  };
  await put("/v1/rate-card", PRICE);
  await put("/v1/judges/helpful", { ...BODY, rubric: "Is {{status}} right?" });
  let runs = 0;
  /** Closes runs through all instances, and waits for their results through the others. */
  const judge = async () => {
    const numbers = Array.from({ length: RUNS }, () => ++runs);
    await Promise.all(numbers.map(async (n) => {
      const body = { id: runId(n), agent: "bot", status: "ok" };
      const of = (shift: number) => all[(n + shift) % all.length] as Harness;
      assertEquals((await of(0).post("/v1/heartbeats", body)).status, 202);
      const { json } = await of(1).get(`/v1/runs/${runId(n)}?wait=judged`);
      assertEquals(json.judge_results.map(({ state }: { state: string }) => state), ["done"]);
    }));
    const { json } = await (all[0] as Harness).get("/v1/judges/helpful");
    // Each call costs 0.00012 dollars.
    assertEquals([server.requests.length, json.spent_usd, json.held_usd], [
      runs,
      Number((runs * 0.00012).toFixed(12)),
      0,
    ]);
  };
  await judge();
  // The first instance to open has the lease.
  await all.shift()?.[Symbol.asyncDispose]();
  await judge();
  // A block by one instance is seen by all, and a new version through any of them unblocks.
  server.behavior = answer(401);
  const [second, third] = all as [Harness, Harness];
  const blocked = { id: runId(++runs), agent: "bot", status: "ok" };
  await second.post("/v1/heartbeats", blocked);
  while ((await third.get("/v1/judges/helpful")).json.blocked_reason === null) {
    await third.get(`/v1/runs/${blocked.id}?wait=final`);
  }
  server.behavior = judged(5);
  const calls = server.requests.length;
  await put("/v1/judges/helpful", { ...BODY, rubric: "Is {{status}} good?" });
  const next = { id: runId(++runs), agent: "bot", status: "ok" };
  await third.post("/v1/heartbeats", next);
  const { json } = await second.get(`/v1/runs/${next.id}?wait=judged`);
  assertEquals([json.judge_results[0].state, server.requests.length], ["done", calls + 1]);
});
