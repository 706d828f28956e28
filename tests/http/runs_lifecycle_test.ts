/** A run from its opening to its finish, in any order (contract 6, decisions 14 to 18, 22, 23). */
import { assert, assertEquals } from "@std/assert";
import { FINISH_STATUSES } from "../../domain/runs/run.ts";
import { aFinish, aRun, at, runId } from "../support/builders/requests.ts";
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
