/** A run from its opening to its finish, in any order (contract 6, decisions 14 to 23, R34, R35). */
import { assert, assertEquals } from "@std/assert";
import { FINISH_STATUSES } from "../../domain/runs/run.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;

const replayed = (answer: Answer) => answer.headers.get("idempotent-replayed");

Harness.test("contract 6: the first POST /v1/runs is 202, running, with its agent created", async (h) => {
  h.nowMs += 250;
  const answer = await h.post("/v1/runs", aRun(1));
  assertEquals([answer.status, replayed(answer)], [202, null]);
  assertEquals(answer.headers.get("content-type"), "application/json");
  const expected = { ...aRun(1), received_at: at(250), status: "running" };
  assertEquals(answer.json, expected);
  const run = (await h.get(PATH)).json;
  for (const [field, value] of Object.entries(expected)) assertEquals(run[field], value, field);
  assertEquals([run.kind, run.finished_at, run.duration_ms, run.cost.state], [
    "run",
    null,
    null,
    "pending",
  ]);
  const agent = await h.store.reader.get(["agent", h.team.id, "researcher"]);
  assert(agent.versionstamp !== null);
  assertEquals(await h.usage(), 1);
});

Harness.test("contract 6: a repeated opening is 200, marked as a replay, and changes nothing", async (h) => {
  const first = await h.post("/v1/runs", aRun(1));
  const before = await h.dump();
  h.nowMs += 1_000;
  for (let n = 0; n < 3; n++) {
    const again = await h.post("/v1/runs", aRun(1));
    assertEquals([again.status, replayed(again), again.text], [200, "true", first.text]);
  }
  await h.restart();
  const later = await h.post("/v1/runs", aRun(1));
  assertEquals([later.status, replayed(later), later.text], [200, "true", first.text]);
  assertEquals(await h.dump(), before);
  assertEquals(await h.usage(), 1);
});

Harness.test("decision 15: after a finish the opening's retry returns the run's status", async (h) => {
  for (const [n, status] of FINISH_STATUSES.entries()) {
    const first = (await h.post("/v1/runs", aRun(n))).json;
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ status }));
    const again = await h.post("/v1/runs", aRun(n));
    assertEquals([again.status, replayed(again)], [200, "true"]);
    assertEquals(again.json, { ...first, status });
  }
});

Harness.test("decision 22: the first finish is 202 and returns the stored record", async (h) => {
  for (const [n, status] of FINISH_STATUSES.entries()) {
    await h.post("/v1/runs", aRun(n));
    h.nowMs += 10;
    const input = aFinish({ status, output: { n }, scores: { quality: 0.5, passed: true } });
    const answer = await h.post(`/v1/runs/${runId(n)}/finish`, input);
    assertEquals([answer.status, replayed(answer)], [202, null]);
    const received_at = at(10 * (n + 1));
    assertEquals(answer.json, { id: runId(n), ...input, received_at });
    const run = (await h.getFinal(`/v1/runs/${runId(n)}`)).json;
    assertEquals([run.status, run.finished_at, run.output], [status, input.finished_at, { n }]);
    assertEquals(
      run.scores.map((s: { name: string; value: unknown }) => [s.name, s.value]),
      [["quality", 0.5], ["passed", true]],
    );
    assertEquals([run.duration_ms, run.cost.state, run.cost.revision], [5_000, "final", 1]);
  }
  assertEquals(await h.usage(), 8);
});

Harness.test("decision 22: a finish without output and scores returns them as null", async (h) => {
  const answer = await h.post(`${PATH}/finish`, aFinish());
  const { id, status, finished_at, received_at, output, scores, ...rest } = answer.json;
  assertEquals([id, status, finished_at, received_at], [runId(1), "success", at(5_000), at()]);
  assertEquals([output, scores, rest], [null, null, {}]);
});

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

/** Objects that no first finish may be, and the errors that a first one gets. */
const INVALID: readonly (readonly [Record<string, unknown>, error: string])[] = [
  [{}, "missing_field"],
  [{ status: "bogus" }, "invalid_field"],
  [{ status: "success" }, "missing_field"],
  [{ ...aFinish(), finished_at: "yesterday" }, "invalid_field"],
  [{ ...aFinish(), status: 7 }, "invalid_field"],
];

Harness.test("R35: after a finish each object is 200 with the record of the first", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const first = await h.post(
    `${PATH}/finish`,
    aFinish({ output: { answer: 42 }, scores: { quality: 1 } }),
  );
  assertEquals(first.status, 202);
  await h.worker.idle();
  const stored = await h.dump();
  h.nowMs += 1_000;
  for (const [body] of [...INVALID, [aFinish({ status: "failed" })] as const]) {
    const { status, text, headers } = await h.post(`${PATH}/finish`, body);
    assertEquals([status, text, headers.get("idempotent-replayed")], [200, first.text, "true"]);
  }
  for (const body of ["{", "[]", "null", `"success"`]) {
    const { status, json } = await h.request("POST", `${PATH}/finish`, { body });
    assertEquals([status, json.error], [400, "invalid_json"], body);
  }
  assertEquals(await h.dump(), stored);
  assertEquals(await h.usage(), 2);
});

Harness.test("R35: so it is for a finish before the opening and for the close of a heartbeat", async (h) => {
  const first = await h.post(`${PATH}/finish`, aFinish({ status: "cancelled" }));
  assertEquals((await h.post(`${PATH}/finish`, {})).text, first.text);
  const other = `/v1/runs/${runId(2)}/finish`;
  await h.post("/v1/heartbeats", aHeartbeat(2, { status: "timeout" }));
  const { status, json } = await h.post(other, { status: "bogus" });
  assertEquals([status, json.status], [200, "timeout"]);
});

Harness.test("R35: without a finish the object is checked, also of a run that was idle", async (h) => {
  const assertRefused = async () => {
    for (const [body, error] of INVALID) {
      const { status, json } = await h.post(`${PATH}/finish`, body);
      assertEquals([status, json.error], [400, error]);
    }
  };
  await assertRefused();
  await h.post("/v1/runs", aRun(1, { idle_timeout_seconds: 60 }));
  await assertRefused();
  h.nowMs += 600_000;
  await h.work.idle();
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).json.closed_by, "idle");
  await assertRefused();
  assertEquals((await h.post(`${PATH}/finish`, aFinish())).status, 202);
});
