/** `POST /v1/checks/try`: a check over stored runs, before it is stored. */
import { assert, assertEquals } from "@std/assert";
import { aFinish, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

/** Expressions of all kinds of names. */
const EXPRESSIONS = [
  "usage.events < 2",
  'status == "success" && cost_usd < 0.0001',
  "output.answer == 42",
  'tools.exists(tool, tool.name == "search")',
  "scores.quality >= 0.5",
  "words(goal) > 1 && longest_repeat.times < 3",
];

function ids(...numbers: readonly number[]): string[] {
  return numbers.map((n) => runId(n));
}

function tryCheck(h: Harness, body: object, key = h.key): Promise<Answer> {
  return h.post("/v1/checks/try", body, { key });
}

/** Stores runs that differ in all that {@link EXPRESSIONS} name. */
async function storeRuns(h: Harness, key = h.key): Promise<void> {
  for (let n = 1; n <= 6; n++) {
    await h.post("/v1/runs", aRun(n, { goal: n % 2 === 0 ? "find it" : "go" }), { key });
    const tool = { type: "tool_call", data: { name: n % 3 === 0 ? "search" : "read" } };
    const events = Array.from({ length: n % 4 }, (_, i) => anEvent(100 * n + i, i % 2 ? tool : {}));
    if (events.length > 0) await h.post(`/v1/runs/${runId(n)}/events`, { events }, { key });
    const output = n % 2 === 0 ? { output: { answer: 40 + n } } : {};
    const scores = n === 3 ? {} : { scores: { quality: n / 10 } };
    const status = n === 5 ? { status: "failed" } : {};
    const finish = aFinish({ ...output, ...scores, ...status });
    assertEquals((await h.post(`/v1/runs/${runId(n)}/finish`, finish, { key })).status, 202);
  }
  await h.worker.idle();
}

Harness.test("trial: says what storing the check would have said, and stores nothing", async (tried) => {
  await using stored = await Harness.open();
  await storeRuns(tried);
  for (const [i, expression] of EXPRESSIONS.entries()) {
    const { status, text } = await stored.request("PUT", `/v1/checks/c${i}`, {
      body: { expression },
    });
    assertEquals(status, 202, text);
  }
  await storeRuns(stored);
  const before = await tried.dump();
  for (const [i, expression] of EXPRESSIONS.entries()) {
    const { status, json, text } = await tryCheck(tried, { check: { expression } });
    assertEquals([status, json.runs, json.cut], [200, 6, false], text);
    for (const { run_id, ...example } of json.examples) {
      const { checks } = (await stored.get(`/v1/runs/${run_id}`)).json;
      const result = checks.find(({ check }: { check: string }) => check === `c${i}`);
      const { status, got, message } = result;
      assertEquals(example, { status, got, message }, `${expression} of ${run_id}`);
    }
    const counted = json.pass + json.fail + json.error + json.skipped;
    assertEquals([counted, json.examples.length], [6, 6]);
  }
  assertEquals(await tried.dump(), before);
});

Harness.test("trial: the latest runs that the check applies to, those that did not pass first", async (h) => {
  for (let n = 1; n <= 30; n++) {
    const agent = n % 2 === 0 ? "even" : "odd";
    await h.post("/v1/runs", aRun(n, { agent, started_at: at(n) }));
    if (n === 28) await h.post(`/v1/runs/${runId(n)}/events`, { events: [anEvent(n)] });
    if (n !== 30) await h.post(`/v1/runs/${runId(n)}/finish`, aFinish());
  }
  await h.worker.idle();
  const check = { expression: "usage.events == 0" };
  const idsOf = ({ json }: Answer) => json.examples.map(({ run_id }: { run_id: string }) => run_id);
  assertEquals(idsOf(await tryCheck(h, { check, last: 3 })), ids(28, 29, 27));
  assertEquals(idsOf(await tryCheck(h, { check, last: 2, agent: "odd" })), ids(29, 27));
  const odd = { ...check, agents: ["od*"] };
  assertEquals(idsOf(await tryCheck(h, { check: odd, last: 2 })), ids(29, 27));
  const all = (await tryCheck(h, { check })).json;
  assertEquals([all.runs, all.pass, all.fail, all.examples.length], [29, 28, 1, 20]);
  const none = (await tryCheck(h, { check: odd, agent: "even" })).json;
  assertEquals([none.runs, none.cut], [0, false]);
  const failed = (await tryCheck(h, { check: { ...check, statuses: ["failed"] } })).json;
  assertEquals([failed.runs, failed.cut], [0, false]);
});

Harness.test("trial: one run; a run of another team is unknown", async (h) => {
  const { key } = await h.addTeam("team");
  await h.post("/v1/runs", aRun(1));
  await h.post("/v1/runs", aRun(2), { key });
  await h.post(`/v1/runs/${runId(2)}/finish`, aFinish(), { key });
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  await h.worker.idle();
  const check = { expression: "usage.events == 0", enabled: false, version: 7 };
  const own = (await tryCheck(h, { check, run_id: runId(1) })).json;
  assertEquals([own.runs, own.pass, own.examples[0].run_id], [1, 1, runId(1)]);
  const theirs = await tryCheck(h, { check, run_id: runId(2) });
  const unknown = await tryCheck(h, { check, run_id: runId(3) });
  assertEquals([theirs.status, theirs.text], [404, unknown.text]);
  const latest = (await tryCheck(h, { check })).json;
  assertEquals(latest.examples.map(({ run_id }: { run_id: string }) => run_id), [runId(1)]);
});

Harness.test("trial: a sample needs a slug, and is that of the stored check", async (h) => {
  const check = { expression: "usage.events == 0", sample: 0.5 };
  await h.request("PUT", "/v1/checks/half", { body: check });
  for (let n = 1; n <= 12; n++) {
    await h.post("/v1/runs", aRun(n));
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish());
  }
  await h.worker.idle();
  assertEquals((await tryCheck(h, { check })).json.runs, 12);
  const { examples } = (await tryCheck(h, { check: { ...check, slug: "half" } })).json;
  const sampled = examples.map(({ run_id }: { run_id: string }) => run_id);
  for (let n = 1; n <= 12; n++) {
    const { checks } = (await h.get(`/v1/runs/${runId(n)}`)).json;
    assertEquals(checks.length === 1, sampled.includes(runId(n)), runId(n));
  }
  assert(sampled.length > 0 && sampled.length < 12, `${sampled.length}`);
});
