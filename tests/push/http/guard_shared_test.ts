/** Budgets and pauses over three instances on one shared KV (G6, G7). */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { aFinish, anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { type Answer, Harness } from "../../support/harness/harness.ts";

/** Opens three services; `pass` moves the clocks of all. */
async function openThree() {
  const stack = new AsyncDisposableStack();
  const server = stack.use(await KvServer.start());
  const all: Harness[] = [];
  for (let n = 0; n < 3; n++) all.push(stack.use(await Harness.open({ kv: server.url() })));
  return {
    all,
    /** Moves the clocks of all, once what they read in the background is read. */
    async pass(ms: number) {
      await Promise.all(all.map(({ guard }) => guard.idle()));
      for (const each of all) each.nowMs += ms;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Repeats a call while the clocks pass, at most 5 seconds of theirs. */
async function within5s<T>(
  pass: (ms: number) => Promise<void>,
  call: () => Promise<T>,
  isDone: (result: T) => boolean,
): Promise<T> {
  for (let ms = 0; ms <= 5_000; ms += 250) {
    const result = await call();
    if (isDone(result)) return result;
    await pass(250);
  }
  throw new Error("It took longer than 5 s");
}

const guardOf = ({ headers }: Answer) => headers.get("runledger-guard");

Deno.test("budgets (6): verdicts of three instances follow each other's budgets and spend within 5 s", async () => {
  await using three = await openThree();
  const [first, second, third] = three.all as [Harness, Harness, Harness];
  const beat = (h: Harness, cost: number) =>
    h.post("/v1/heartbeats", { agent: "nightly", customer_id: "acme", cost_usd: cost });
  for (const each of three.all) await beat(each, 0);
  const body = { scope: { customer_id: "acme" }, period: "day", limit_usd: 3, mode: "hard" };
  assertEquals((await first.request("PUT", "/v1/budgets/acme", { body })).status, 202);
  for (const each of three.all) {
    await within5s(three.pass, () => beat(each, 0), (answer) => guardOf(answer) === "allow");
  }
  for (const each of three.all) {
    const { json: { id } } = await beat(each, 1);
    // The worker takes its time by the machine's clock.
    await each.get(`/v1/runs/${id}?wait=final`);
  }
  for (const each of [third, second, first]) {
    const check = () => each.post("/v1/guard/check", { customer_ref: "acme" });
    const isBlock = ({ json }: Answer) => json.decision === "block";
    const { json } = await within5s(three.pass, check, isBlock);
    assertEquals(json.rules[0].spent_usd, 3);
    const isBlocked = (answer: Answer) => guardOf(answer)?.startsWith("block;") ?? false;
    await within5s(three.pass, () => beat(each, 0), isBlocked);
  }
  assertEquals((await second.request("DELETE", "/v1/budgets/acme")).status, 200);
  for (const each of three.all) {
    await within5s(three.pass, () => beat(each, 0), (answer) => guardOf(answer) === null);
  }
});

Deno.test("budgets (5): a loop over three instances is blocked from the batch on that passes the limit", async () => {
  await using three = await openThree();
  const [first] = three.all as [Harness];
  const body = { scope: {}, period: "run", limit_usd: 5, mode: "hard" };
  await first.request("PUT", "/v1/budgets/loop", { body });
  for (const each of three.all) {
    const beat = () => each.post("/v1/heartbeats", { agent: "nightly" });
    await within5s(three.pass, beat, (answer) => guardOf(answer) === "allow");
  }
  await first.post("/v1/runs", aRun(1));
  let spent = 0;
  for (let n = 0; n < 60; n++) {
    const data = { model: "gpt-4o", input_tokens: 40_000 };
    const path = `/v1/runs/${runId(1)}/events`;
    const h = three.all[n % 3] as Harness;
    const answer = await h.post(path, { events: [anEvent(n, { type: "llm_call", data })] });
    assertEquals(answer.status, 202);
    spent += 0.1;
    const guard = guardOf(answer);
    if (n >= 49) assertMatch(guard ?? "", /^block;/, `${spent}`);
    else assert(guard === null || !guard.startsWith("block"), `${spent} ${guard}`);
  }
});

Deno.test("budgets (5): what other instances know of a run's spend is never an allow elsewhere", async () => {
  await using three = await openThree();
  const [first, second] = three.all as [Harness, Harness];
  const body = { scope: {}, period: "run", limit_usd: 1, mode: "hard" };
  await first.request("PUT", "/v1/budgets/loop", { body });
  for (const each of [first, second]) {
    const beat = () => each.post("/v1/heartbeats", { agent: "nightly" });
    await within5s(three.pass, beat, (answer) => guardOf(answer) === "allow");
  }
  const spend = (h: Harness, run: number, event: number, tokens: number) => {
    const data = { model: "gpt-4o", input_tokens: tokens };
    const events = [anEvent(event, { type: "llm_call", data })];
    return h.post(`/v1/runs/${runId(run)}/events`, { events });
  };
  // More openings than are read within a second, of runs that have spent elsewhere.
  const runs = Array.from({ length: 30 }, (_, n) => n);
  for (const run of runs) {
    assertMatch(guardOf(await spend(second, run, 1, 400_000)) ?? "", /^block/);
  }
  await Promise.all(runs.map((run) => first.post("/v1/runs", aRun(run))));
  for (const run of runs) {
    const guard = guardOf(await first.post(`/v1/runs/${runId(run)}/finish`, aFinish()));
    assert(guard === null || guard.startsWith("block;"), `${guard}`);
  }
  // A run that has spent less here than elsewhere.
  const opened = await first.post("/v1/runs", aRun(100));
  assertEquals(guardOf(opened), "allow");
  assertEquals(guardOf(await spend(first, 100, 1, 1_000)), "allow");
  assertMatch(guardOf(await spend(second, 100, 2, 400_000)) ?? "", /^block;/);
  const again = () => first.post("/v1/runs", aRun(100));
  assertEquals(guardOf(await again()), null);
  assertMatch(guardOf(await spend(first, 100, 2, 400_000)) ?? "", /^block;/, "a duplicate");
  assertMatch(guardOf(await again()) ?? "", /^block;/);
  // A run that is known here, and whose heartbeat says its cost elsewhere.
  const beat = { agent: "nightly", id: runId(200) };
  await second.post("/v1/heartbeats", { ...beat, status: "start" });
  await three.pass(1_000);
  assertEquals(guardOf(await spend(first, 200, 1, 1_000)), null);
  await three.pass(1_000);
  const ended = await second.post("/v1/heartbeats", { ...beat, status: "ok", cost_usd: 2 });
  assertMatch(guardOf(ended) ?? "", /^block;/);
  const guard = guardOf(await spend(first, 200, 2, 1_000));
  assert(guard === null || guard.startsWith("block;"), `${guard}`);
  await three.pass(1_000);
  assertMatch(guardOf(await spend(first, 200, 3, 1_000)) ?? "", /^block;/);
});
