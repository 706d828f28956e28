/** The opening that is stored first counts, of a heartbeat and of `POST /v1/runs` alike (R34). */
import { assertEquals } from "@std/assert";
import { aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const AGENT = { agent: "researcher" };
const JSON_ANSWER = { headers: { Accept: "application/json" } };

async function recordOf(h: Harness, run = 1) {
  return (await h.getFinal(`/v1/runs/${runId(run)}`)).json;
}

function open(h: Harness, fields: Record<string, unknown> = {}, run = 1): Promise<Answer> {
  return h.post("/v1/runs", aRun(run, fields));
}

function beat(h: Harness, fields: Record<string, unknown> = {}, run = 1): Promise<Answer> {
  return h.post("/v1/heartbeats", aHeartbeat(run, { ...AGENT, ...fields }));
}

/** Sends a model call of $0.0035. */
function call(h: Harness, run = 1): Promise<Answer> {
  const data = { provider: "openai", model: "gpt-4o", input_tokens: 1_000, output_tokens: 100 };
  const events = [anEvent(1, { type: "llm_call", data })];
  return h.post(`/v1/runs/${runId(run)}/events`, { events });
}

function assertReplayed({ status, headers }: Answer): void {
  assertEquals([status, headers.get("idempotent-replayed")], [200, "true"]);
}

function assertConflict({ status, json }: Answer, field: string): void {
  assertEquals([status, json.error, json.field], [409, "id_conflict", field]);
}

for (const status of ["start", "fail"]) {
  Harness.test(`R34: POST /v1/runs changes nothing of a run that a heartbeat opened: ${status}`, async (h) => {
    const old = { customer_id: "c-old", metadata: { a: 1 }, cost_usd: 4 };
    await beat(h, { status, started_at: at(), ...old });
    await call(h);
    await h.worker.idle();
    const stored = await h.dump();
    h.nowMs += 1_000;
    const later = { customer_id: "c-new", feature: "f", metadata: { b: 2 }, goal: "g" };
    const opened = await open(h, later);
    assertReplayed(opened);
    assertEquals(opened.json, {
      id: runId(1),
      ...AGENT,
      started_at: at(),
      received_at: at(),
      status: status === "start" ? "running" : "failed",
    });
    await h.worker.idle();
    assertEquals(await h.dump(), stored);
    const { kind, customer_id, feature, metadata, goal, cost_usd } = await recordOf(h);
    assertEquals([kind, customer_id, feature, goal], ["heartbeat", "c-old", null, null]);
    assertEquals([metadata, cost_usd], [{ a: 1 }, 4]);
  });
}

Deno.test("R34: a heartbeat without started_at has its arrival as its start", async () => {
  for (const status of ["start", "ok"]) {
    await using h = await Harness.open();
    const first = await beat(h, { status, cost_usd: 2.5 });
    assertEquals(first.json.started_at, at());
    const stored = await h.dump();
    h.nowMs += 1_000;
    assertConflict(await open(h, { started_at: at(-3_600_000) }), "started_at");
    assertConflict(await open(h, { started_at: at(1_000) }), "started_at");
    assertConflict(await open(h, { agent: "other" }), "agent");
    assertReplayed(await open(h));
    // A retry is compared by what it sends.
    for (const fields of [{}, { started_at: at() }]) {
      const again = await beat(h, { status, cost_usd: 2.5, ...fields });
      assertReplayed(again);
      assertEquals(again.text, first.text);
    }
    assertEquals(await h.dump(), stored);
  }
});

Harness.test("R26, R34: a start that follows from the duration is compared like a sent one", async (h) => {
  const first = await beat(h, { duration_ms: 60_000 });
  assertEquals(first.json.started_at, at(-60_000));
  assertConflict(await open(h), "started_at");
  assertReplayed(await open(h, { started_at: at(-60_000) }));
  h.nowMs += 1_000;
  const again = await beat(h, { duration_ms: 60_000 });
  assertReplayed(again);
  assertEquals(again.text, first.text);
});

Harness.test("R34: a heartbeat closes an opened run without its cost, and the answer names that", async (h) => {
  await open(h);
  await call(h);
  const tokens = { input_tokens: 5, output_tokens: 0, cached_input_tokens: 0 };
  const sent = { cost_usd: 9, model: "gpt-4o", ...tokens };
  const dropped = "cost_usd=1, input_tokens=1, output_tokens=1, cached_input_tokens=1";
  const started = await beat(h, { status: "start", cost_usd: 9 });
  assertReplayed(started);
  const answered = [started.json.cost_usd, started.headers.get("runledger-dropped")];
  assertEquals(answered, [0, "cost_usd=1"]);
  const closed = await beat(h, sent);
  assertEquals([closed.status, closed.json.status, closed.json.cost_usd], [202, "ok", 0.0035]);
  assertEquals(closed.headers.get("runledger-dropped"), dropped);
  const again = await beat(h, sent);
  assertReplayed(again);
  assertEquals([again.text, again.headers.get("runledger-dropped")], [closed.text, dropped]);
  const plain = await beat(h);
  assertEquals([plain.text, plain.headers.get("runledger-dropped")], [closed.text, null]);
  const { kind, status, cost_usd, usage } = await recordOf(h);
  assertEquals([kind, status, cost_usd, usage.input_tokens], ["run", "success", 0.0035, 1_000]);
  assertEquals([usage.llm_calls, await h.usage()], [1, 3]);
});

Harness.test("R34: so does a ping, in the words of its answers", async (h) => {
  const ping = (run: number, more: string, init = {}) =>
    h.get(`/v1/ping?id=${runId(run)}&agent=researcher&cost_usd=9${more}`, init);
  for (const run of [1, 2]) {
    await open(h, {}, run);
    await call(h, run);
  }
  const json = await ping(1, "&input_tokens=5", JSON_ANSWER);
  assertEquals([json.status, json.json.cost_usd], [200, 0.0035]);
  assertEquals(json.headers.get("runledger-dropped"), "cost_usd=1, input_tokens=1");
  const text = await ping(2, "");
  assertEquals([text.text, text.headers.get("runledger-dropped")], ["OK\n", "cost_usd=1"]);
  assertEquals((await recordOf(h, 2)).cost_usd, 0.0035);
  // On its own run, its cost counts.
  const own = await ping(3, "", JSON_ANSWER);
  assertEquals([own.json.cost_usd, own.headers.get("runledger-dropped")], [9, null]);
});

Harness.test("R34: a heartbeat's tokens are the cost of its run, and without them its calls are", async (h) => {
  const priced = { provider: "openai", model: "gpt-4o", input_tokens: 2_000, output_tokens: 0 };
  const costs = [{ cost_usd: 2 }, priced, { model: "gpt-4o" }, { input_tokens: 2_000 }, {}];
  for (const [i, fields] of costs.entries()) {
    await beat(h, fields, i);
    await call(h, i);
  }
  const records = await Promise.all(costs.map((_, i) => recordOf(h, i)));
  const expected = [2, 0.005, 0.0035, 0.0035, 0.0035];
  assertEquals(records.map(({ cost_usd }) => cost_usd), expected);
  const { json } = await h.get(`/v1/runs/${runId(1)}/cost`);
  assertEquals(
    json.calls.map(({ cost_usd, flags }: Answer["json"]) => [cost_usd, flags]),
    [[0.005, []], [0, ["covered_by_tokens"]]],
  );
  const spend = await h.get("/v1/spend?from=2026-11-01&to=2026-11-30");
  assertEquals(spend.json.totals.cost_usd, 2.0155);
});
