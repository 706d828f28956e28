/** Judges over the API, against a server of chat completions. */
import { assert, assertEquals } from "@std/assert";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import { listRows } from "../../kv/store.ts";
import { completion } from "../support/builders/judges.ts";
import { eventId, runId, scoreId } from "../support/builders/requests.ts";
import { judged, ModelServer } from "../support/fakes/model_server.ts";
import { answer, HANG_UP } from "../support/fakes/receiver.ts";
import type { Harness } from "../support/harness/harness.ts";
import { fixture } from "../support/harness/fixture.ts";
import { follow } from "../support/harness/live.ts";
import { BODY, JudgeHarness } from "../support/harness/judges.ts";
import { OPERATOR_KEY } from "../support/harness/operator.ts";
import { playDays } from "../assurance/judges/days.ts";
import { SEED } from "../support/harness/seed.ts";

const judge = { test: fixture(() => JudgeHarness.open()) };
const disabled = { test: fixture(() => JudgeHarness.open({ enabled: false })) };

judge.test("judges: a run gets a result, a score, and the cost as a child in the ledger", async (j) => {
  const id = await j.run();
  assertEquals(j.server.requests.length, 1);
  const record = await j.read(`/v1/runs/${id}`);
  const [result, ...others] = record.judge_results;
  const { at: _, latency_ms: __, ...stable } = result;
  assertEquals([stable, others], [{
    judge: "helpful",
    version: 1,
    state: "done",
    reason: null,
    value: 5,
    score: 1,
    passed: true,
    reasoning: "worth 5",
    model: "judge-model",
    cost_usd: 0.00012,
    cost_estimated: false,
    attempts: 1,
    revision: 1,
  }, []]);
  const listed = await j.read("/v1/runs?has=judged");
  assertEquals(listed.runs.map((run: { id: string }) => run.id), [id]);
  const [score] = record.scores;
  assertEquals([score.name, score.value, score.source], ["judge:helpful", 1, "judge"]);
  assertEquals(record.cost_with_children_usd, 0.00012);
  const { runs } = await j.read("/v1/runs?agent=judge%3Ahelpful");
  assertEquals(runs.length, 1);
  const child = await j.read(`/v1/runs/${runs[0].id}`);
  assertEquals([child.cost_usd, child.parent_run_id ?? child.links?.parent], [0.00012, id]);
  assertEquals(
    record.processing.map(({ stage, state }: Record<string, string>) => `${stage} ${state}`).at(-1),
    "judge done",
  );
  const judge = await j.read("/v1/judges/helpful");
  assertEquals([judge.spent_usd, judge.held_usd, judge.blocked_reason], [0.00012, 0, null]);
});

/** Results of a run, as `state reason attempts cost`. */
async function resultOf(j: JudgeHarness, id: string): Promise<string> {
  const { judge_results: [result] } = await j.read(`/v1/runs/${id}`);
  const { state, reason, attempts, cost_usd } = result;
  return [state, reason, attempts, cost_usd].join(" ");
}

judge.test("judges: an unknown connection, an unpriced model, a URL and a key are refused", async (j) => {
  const wrong = [
    [{ connection: "other" }, "connection"],
    [{ model: "unpriced-model" }, "model"],
    [{ url: "https://evil.example" }, "url"],
    [{ key: "sk-1" }, "key"],
    [{ rubric: "Be kind" }, "rubric"],
  ] as const;
  for (const [fields, field] of wrong) {
    const body = { ...BODY, ...fields };
    const { status, json } = await j.h.request("PUT", "/v1/judges/wrong", { body });
    assertEquals([status, json.error, json.field], [400, "invalid_field", field]);
  }
});

judge.test("judges: a redirect is not followed, and costs nothing", async (j) => {
  await using target = new ModelServer();
  j.server.behavior = answer(302, { location: `http://127.0.0.1:${target.receiver.port}/v1` });
  assertEquals(await resultOf(j, await j.run()), "failed http_302 1 0");
  assertEquals([j.server.requests.length, target.requests.length], [1, 0]);
});

Deno.test("judges: new prices send nothing, and a late event that changes the text sends one", async () => {
  await using j = await JudgeHarness.open({ rubric: "Are {{tools}} right for {{output}}?" });
  const id = await j.run();
  assertEquals(j.server.requests.length, 1);
  const event = { id: eventId(1), type: "llm_call", ts: new Date(j.h.nowMs).toISOString() };
  const data = { model: BODY.model, input_tokens: 10, output_tokens: 1 };
  const send = async (sent: object) => {
    const body = { events: [sent] };
    assertEquals((await j.h.request("POST", `/v1/runs/${id}/events`, { body })).status, 202);
    await j.work();
  };
  await send({ ...event, data });
  assertEquals(j.server.requests.length, 1);
  assertEquals((await j.read(`/v1/runs/${id}`)).judge_results[0].revision, 2);
  await send({ ...event, id: eventId(2), type: "tool_call", data: { name: "search" } });
  assertEquals(j.server.requests.length, 2);
  const { runs } = await j.read("/v1/runs?agent=judge%3Ahelpful");
  assertEquals(runs.map(({ cost_usd }: { cost_usd: number }) => cost_usd), [0.00012, 0.00012]);
});

judge.test("judges: a run without the output that the rubric names is skipped without a call", async (j) => {
  assertEquals(await resultOf(j, await j.run(null)), "skipped no_output 0 0");
  assertEquals(j.server.requests.length, 0);
});

Deno.test("judges: over its cap a run is skipped, and a new day judges again", async () => {
  // Without counts a call costs its hold, 0.002 dollars.
  await using j = await JudgeHarness.open({ daily_usd: 0.0024, max_output_tokens: 16 });
  j.server.behavior = judged(5, null);
  const incidents = async (state: string) => {
    j.h.nowMs += 60_000;
    await j.work();
    const page = await j.read(`/v1/incidents?state=${state}`);
    return page.incidents.map(({ message }: { message: string }) => message);
  };
  const first = await j.run();
  assertEquals(await incidents("open"), ["Judge helpful has spent 80 % of the daily cap"]);
  assert((await resultOf(j, first)).startsWith("done  1 0.00"));
  const [result] = (await j.read(`/v1/runs/${first}`)).judge_results;
  assertEquals(result.cost_estimated, true);
  assertEquals(await resultOf(j, await j.run()), "skipped budget 0 0");
  const skips = ["Judge helpful skips runs: the daily cap is used up"];
  assertEquals(await incidents("open"), skips);
  j.h.nowMs += 86_400_000;
  assertEquals([await incidents("open"), await incidents("resolved")], [[], skips]);
  assert((await resultOf(j, await j.run())).startsWith("done  1 0.00"));
  await j.put("/v1/judges/helpful", { ...BODY, daily_usd: 0.0001 });
  assertEquals(await resultOf(j, await j.run()), "skipped too_dear 0 0");
  assertEquals(j.server.requests.length, 2);
});

judge.test("judges: a lost answer costs its hold, and is tried again", async (j) => {
  j.server.behavior = HANG_UP;
  const id = await j.run();
  const { spent_usd } = await j.read("/v1/judges/helpful");
  assert(spent_usd > 0.001);
  assertEquals(await resultOf(j, id), `pending no_answer 1 ${spent_usd}`);
  j.server.behavior = judged(1);
  j.h.nowMs += 60_000;
  await j.work();
  const { judge_results: [result] } = await j.read(`/v1/runs/${id}`);
  assertEquals([result.state, result.attempts, result.cost_estimated], ["done", 2, true]);
  const { runs: [child] } = await j.read("/v1/runs?agent=judge%3Ahelpful");
  assertEquals(child.cost_usd, result.cost_usd);
  assertEquals((await j.read("/v1/judges/helpful")).spent_usd, result.cost_usd);
});

judge.test("judges: an answer that cannot be used is asked for again with our words alone", async (j) => {
  j.server.behavior = answer(200, {}, completion("MARKER is 7"));
  const id = await j.run();
  assertEquals((await resultOf(j, id)).split(" ").slice(0, 3), ["failed", "bad_json", "2"]);
  const [, again] = j.server.requests.map(({ body }) => JSON.parse(body).messages);
  assertEquals(again.length, 3);
  assert(again[2].content.includes("it was not one JSON object"));
  assert(!JSON.stringify(again).includes("MARKER"));
});

judge.test("judges: a wrong key blocks the judge, one job probes, and a change unblocks it", async (j) => {
  const error = JSON.stringify({ error: { message: "sk-secret", code: "invalid_api_key" } });
  j.server.behavior = answer(401, {}, error);
  const id = await j.run();
  await j.run();
  assertEquals(j.server.requests.length, 1);
  const blocked = await j.read("/v1/judges/helpful");
  assertEquals(blocked.blocked_reason, "http_401");
  const incidents = async (state: string) => {
    j.h.nowMs += 60_000;
    await j.work();
    const page = await j.read(`/v1/incidents?state=${state}`);
    return page.incidents.map(({ rule }: { rule: string }) => rule);
  };
  assertEquals(await incidents("open"), ["service"]);
  j.h.nowMs += 600_000;
  await j.work();
  assertEquals(j.server.requests.length, 2);
  assertEquals(await resultOf(j, id), "pending http_401 0 0");
  j.server.behavior = judged(5);
  await j.put("/v1/judges/helpful", { ...BODY, pass_at: 0.8 });
  assertEquals((await j.read("/v1/judges/helpful")).blocked_reason, null);
  j.h.nowMs += 600_000;
  await j.work();
  assertEquals(await resultOf(j, id), "done  1 0.00012");
  assertEquals([await incidents("open"), await incidents("resolved")], [[], ["service"]]);
  assert(!(await j.h.get(`/v1/runs/${id}`)).text.includes("sk-secret"));
});

Deno.test("judges: a connection that is lacking makes jobs wait, is logged once, and is counted", async () => {
  await using j = await JudgeHarness.open({}, { operatorKey: OPERATOR_KEY });
  await j.run();
  await j.loseConnection();
  const id = await j.run();
  for (let minute = 0; minute < 3; minute++) {
    j.h.nowMs += 60_000;
    await j.work();
  }
  assertEquals(await resultOf(j, id), "pending  0 0");
  const lines = j.h.log.filter((line) => line.includes("RUNLEDGER_LLM"));
  assertEquals([lines.length, lines[0]?.includes("helpful")], [1, true]);
  const { text } = await j.h.get("/metrics", { key: OPERATOR_KEY });
  for (
    const sample of [
      'judge_calls_total{outcome="answered"} 1',
      'judge_calls_total{outcome="no_connection"} 4',
      "judge_cost_usd_total 0.00012",
    ]
  ) assert(text.includes(`runledger_${sample}\n`), sample);
});

judge.test("judges: a check on the score fails the run and raises an incident", async (j) => {
  await j.put("/v1/checks/helpful", { expression: 'scores["judge:helpful"] >= 0.7' });
  const params = { checks: ["helpful"] };
  await j.put("/v1/rules/helpful", { kind: "check_failed", params, group_by: "agent" });
  j.server.behavior = judged(2);
  const id = await j.run();
  const record = await j.read(`/v1/runs/${id}`);
  assertEquals(record.checks.map(({ status }: { status: string }) => status), ["fail"]);
  assertEquals(record.incidents.length, 1);
});

judge.test("judges: a live stream says that a run was judged, once, and no score of a client does", async (j) => {
  await using listener = await follow(j.h, { query: "?agent=bot" });
  const id = await j.run();
  const score = { id: scoreId(1), name: "judge:helpful", value: 1, source: "judge" };
  assertEquals((await j.h.post(`/v1/runs/${id}/scores`, score)).status, 202);
  await j.work();
  const events = await listener.events(4);
  assertEquals(events.map(({ event }) => event), [
    "run.opened",
    "run.finished",
    "run.cost_final",
    "run.judged",
  ]);
  assertEquals(events[3]?.data.has, ["judged"]);
  // The next event is of the next run: no score of a client says that a judge has judged.
  const other = await j.run();
  const [next] = await listener.events(1);
  assertEquals([next?.event, next?.data.id], ["run.opened", other]);
});

judge.test("judges: wait=judged answers with the result, wait=final before it", async (j) => {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  j.server.behavior = async (connection, request) => {
    asked.resolve();
    await answered.promise;
    await judged(5)(connection, request);
  };
  j.h.nowMs += 1_000;
  const run = j.run();
  await asked.promise;
  const id = runId(1);
  const final = await j.read(`/v1/runs/${id}?wait=final`);
  assertEquals(final.judge_results[0].state, "pending");
  const waiting = j.read(`/v1/runs/${id}?wait=judged`);
  answered.resolve();
  assertEquals((await waiting).judge_results[0].state, "done");
  await run;
});

judge.test("judges: a run that is deleted takes its result along, and its cost stays", async (j) => {
  const id = await j.run();
  assertEquals((await j.h.request("DELETE", `/v1/runs/${id}`)).status, 200);
  await j.work();
  assertEquals(await rowsBelow(j.h, ["judge_job"]), []);
  const { runs: [child] } = await j.read("/v1/runs?agent=judge%3Ahelpful");
  assertEquals(child.cost_usd, 0.00012);
  assertEquals((await verifyStore(j.h.store)).differences, []);
});

judge.test("judges: a run that is deleted during its call pays for it, and gets no result", async (j) => {
  j.server.behavior = async (connection, request) => {
    await j.h.request("DELETE", `/v1/runs/${runId(1)}`);
    await judged(5)(connection, request);
  };
  await j.run();
  assertEquals(await rowsBelow(j.h, ["judge_job"]), []);
  assertEquals(await rowsBelow(j.h, ["work", "run"]), []);
  const { runs: [child] } = await j.read("/v1/runs?agent=judge%3Ahelpful");
  assertEquals(child.cost_usd, 0.00012);
});

judge.test("judges: a process that ends during a call loses its answer, and counts its cost", async (j) => {
  j.dies = true;
  const id = await j.run();
  j.dies = false;
  const { held_usd, spent_usd } = await j.read("/v1/judges/helpful");
  assert(held_usd > 0.001);
  assertEquals(spent_usd, 0);
  j.h.nowMs += 600_000;
  await j.work();
  j.h.nowMs += 600_000;
  await j.work();
  const { judge_results: [result] } = await j.read(`/v1/runs/${id}`);
  assertEquals([result.state, result.attempts, result.cost_estimated], ["done", 2, true]);
  const { runs } = await j.read("/v1/runs?agent=judge%3Ahelpful");
  assertEquals(runs.map(({ cost_usd }: { cost_usd: number }) => cost_usd), [result.cost_usd]);
  assertEquals(result.cost_usd, Number((held_usd + 0.00012).toFixed(12)));
  assertEquals(j.server.requests.length, 2);
});

/** Tries the judge; returns the response, and the results as `state reason`. */
async function tryJudge(j: JudgeHarness, fields: object = {}, judge: object = {}) {
  const body = { judge: { ...BODY, slug: "helpful", ...judge }, ...fields };
  const { status, json, text } = await j.h.request("POST", "/v1/judges/try", { body });
  assertEquals(status, 200, text);
  await j.work();
  const states = json.runs.map(({ state, reason }: Record<string, string>) => `${state} ${reason}`);
  return { json, states };
}

/** Costs of the calls of a judge in the ledger. */
async function paid(j: JudgeHarness, slug = "helpful"): Promise<number[]> {
  const { runs } = await j.read(`/v1/runs?agent=judge%3A${slug}`);
  return runs.map(({ cost_usd }: { cost_usd: number }) => cost_usd);
}

disabled.test("try: an estimate calls nobody; a trial pays, and leaves the runs as they are", async (j) => {
  const [first, second] = [await j.run(), await j.run()];
  await j.run(null);
  const estimate = await tryJudge(j, { estimate: true });
  assertEquals(estimate.states, ["skipped no_output", "pending null", "pending null"]);
  const { cost_max_usd, cost_usd, left_usd } = estimate.json;
  assert(cost_max_usd > 0.002 && cost_max_usd < 0.1, cost_max_usd);
  assertEquals([cost_usd, left_usd, j.server.requests.length], [0, 1, 0]);
  // A run that would not be in the sample is tried.
  const { json } = await tryJudge(j, { run_ids: [first] }, { sample: 1e-9 });
  const [{ run_id, state, score, reasoning }] = json.runs;
  assertEquals([run_id, state, score, reasoning], [first, "done", 1, "worth 5"]);
  assertEquals([json.cost_usd, json.left_usd], [0.00012, 0.99988]);
  const latest = await tryJudge(j, { last: 2 }, { statuses: ["success"] });
  assertEquals(
    latest.json.runs.map((run: { run_id: string }) => run.run_id).includes(second),
    true,
  );
  assertEquals(await paid(j), [0.00012, 0.00012]);
  const { scores, judge_results } = await j.read(`/v1/runs/${first}`);
  assertEquals([scores, judge_results], [[], []]);
  assertEquals(await rowsBelow(j.h, ["judge_job"]), []);
  assertEquals((await verifyStore(j.h.store)).differences, []);
});

Deno.test("try: the cap of the stored judge holds, also for a judge that asks for more", async () => {
  await using j = await JudgeHarness.open({ daily_usd: 0.003, max_output_tokens: 16 });
  j.server.behavior = judged(5, null);
  await j.run();
  const { states, json } = await tryJudge(j, { last: 3 }, {
    daily_usd: 100,
    max_output_tokens: 16,
  });
  assertEquals([states, json.cost_usd], [["skipped budget"], 0]);
  assertEquals(j.server.requests.length, 1);
  const other = await tryJudge(j, {}, { slug: "other", max_output_tokens: 16 });
  assertEquals(other.states, ["done null"]);
  assertEquals(await paid(j, "other"), [other.json.cost_usd]);
});

disabled.test("try: a refused, a lost and a useless answer are shown and never repeated", async (j) => {
  await j.run();
  const cases = [
    [answer(401), "failed http_401", 1],
    [answer(429), "failed http_429", 1],
    [HANG_UP, "failed timeout", 1],
    [answer(200, {}, completion("no judgement")), "failed bad_json", 1],
    // Only another form of the answer is asked for, as in earnest.
    [answer(400), "failed http_400", 3],
  ] as const;
  for (const [behavior, state, requests] of cases) {
    const before = j.server.requests.length;
    j.server.behavior = behavior;
    assertEquals((await tryJudge(j)).states, [state]);
    assertEquals(j.server.requests.length - before, requests, state);
  }
  assertEquals((await j.read("/v1/judges/helpful")).blocked_reason, null);
  assertEquals((await j.read("/v1/judges/helpful")).spent_usd, sum(await paid(j)));
});

disabled.test("try: a process that ends during a call pays for it once", async (j) => {
  await j.run();
  j.dies = true;
  const body = { judge: { ...BODY, slug: "helpful" } };
  assertEquals((await j.h.request("POST", "/v1/judges/try", { body })).status, 500);
  j.dies = false;
  const { held_usd } = await j.read("/v1/judges/helpful");
  assert(held_usd > 0.001);
  assertEquals(await paid(j), []);
  for (let round = 0; round < 3; round++) {
    j.h.nowMs += 600_000;
    await j.work();
  }
  assertEquals(await paid(j), [held_usd]);
  assertEquals(await rowsBelow(j.h, ["judge_job"]), []);
  assertEquals(await rowsBelow(j.h, ["work", "run"]), []);
});

function sum(costs: readonly number[]): number {
  return Number(costs.reduce((total, cost) => total + cost, 0).toFixed(12));
}

async function rowsBelow({ store }: Harness, prefix: Deno.KvKey): Promise<Deno.KvKey[]> {
  return (await listRows(store, { prefix })).map(({ key }) => key);
}

Deno.test("judges: over random days with deaths and lost answers no bill passes its cap", async () => {
  const { calls, deaths, lost, judged } = await playDays(`judges ${SEED}`, 20);
  assert(calls > 20 && deaths > 0 && lost > 0 && judged > 10, JSON.stringify({ calls, judged }));
});
