/** A run from its opening to its finish, in any order (contract 6, decisions 14 to 18, 22, 23). */
import { assert, assertEquals } from "@std/assert";
import { FINISH_STATUSES } from "../../domain/runs/run.ts";
import { aFinish, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
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

Harness.test("decision 14: other fields may differ on a retry; the first ones are kept", async (h) => {
  const first = { customer_id: "acme", feature: "search", metadata: { a: 1 }, goal: "win" };
  await h.post("/v1/runs", aRun(1, first));
  const other = { customer_id: "corp", feature: "chat", metadata: { b: 2 }, goal: "lose" };
  for (const fields of [other, {}]) {
    const again = await h.post("/v1/runs", aRun(1, fields));
    assertEquals([again.status, replayed(again)], [200, "true"]);
  }
  const { customer_id, feature, metadata, goal } = (await h.get(PATH)).json;
  assertEquals({ customer_id, feature, metadata, goal }, first);
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

Harness.test("contract 6: finishing again is 200 with the first record, whatever is sent", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const input = aFinish({ output: { kept: true }, scores: { quality: 1 } });
  const first = await h.post(`${PATH}/finish`, input);
  await h.worker.idle();
  h.nowMs += 60_000;
  // The usage of the minute is counted.
  await h.work.idle(["back"]);
  const before = await h.dump();
  const others = [
    input,
    aFinish(),
    aFinish({ status: "failed", finished_at: at(9_000) }),
    aFinish({ output: { kept: false }, scores: { quality: 0 }, metadata: { late: 1 } }),
  ];
  for (const body of others) {
    const again = await h.post(`${PATH}/finish`, body);
    assertEquals([again.status, replayed(again), again.text], [200, "true", first.text]);
  }
  await h.restart();
  const later = await h.post(`${PATH}/finish`, aFinish({ status: "cancelled" }));
  assertEquals([later.status, replayed(later), later.text], [200, "true", first.text]);
  assertEquals(await h.dump(), before);
  assertEquals((await h.get(PATH)).json.status, "success");
});

Harness.test("decision 16: a finish may arrive first; the opening joins it", async (h) => {
  const finish = await h.post(`${PATH}/finish`, aFinish({ status: "failed" }));
  assertEquals([finish.status, finish.json.status], [202, "failed"]);
  const alone = (await h.get(PATH)).json;
  assertEquals([alone.status, alone.agent, alone.started_at], ["failed", null, null]);
  assertEquals(alone.duration_ms, null);

  h.nowMs += 1_000;
  const opened = await h.post("/v1/runs", aRun(1));
  assertEquals([opened.status, replayed(opened), opened.json.status], [202, null, "running"]);
  const joined = (await h.get(PATH)).json;
  assertEquals([joined.status, joined.agent, joined.duration_ms], ["failed", "researcher", 5_000]);
  assertEquals((await h.post("/v1/runs", aRun(1))).json.status, "failed");
  assertEquals(await h.usage(), 2);
});

Harness.test("decision 18: parts without an opening are readable", async (h) => {
  await h.post(`${PATH}/events`, { events: [anEvent(1)] });
  const run = (await h.get(PATH)).json;
  assertEquals([run.status, run.agent, run.events.length], ["running", null, 1]);
  assertEquals(run.flags, ["no_opening"]);
  await h.post("/v1/runs", aRun(1));
  assertEquals((await h.get(PATH)).json.flags, []);
});

Harness.test("decisions, section 4: parent and goal of a run are stored and read", async (h) => {
  const fields = {
    parent_run_id: runId(9),
    goal: "find it",
    idle_timeout_seconds: 86_400,
    idle_timeout_status: "cancelled",
  };
  assertEquals((await h.post("/v1/runs", aRun(1, fields))).status, 202);
  const run = (await h.get(PATH)).json;
  assertEquals([run.goal, run.links], ["find it", { parent: runId(9), children: [] }]);
});
