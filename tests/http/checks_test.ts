/** Checks: their settings, what they say of runs, and trials of them. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { aClosedRun, putPrice, reprice } from "../support/builders/reprice.ts";
import { aFinish, anEvent, aRun, aScore, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";

const CHECK = {
  expression: "usage.errors == 0 && cost_usd < 0.5",
  agents: ["research*"],
  kinds: ["run"],
  statuses: ["success"],
  features: ["search"],
  severity: "warn",
  sample: 0.5,
  enabled: true,
  description: "What support relies on",
};
const CHECKS_MAX = 100;

function put(h: Harness, slug: string, body: unknown): Promise<Answer> {
  return h.request("PUT", `/v1/checks/${slug}`, { body });
}

/** Stores closed runs with these numbers of events, the newest last. */
async function closeRuns(h: Harness, events: readonly number[], from = 1) {
  for (const [i, count] of events.entries()) {
    const id = runId(from + i);
    await h.post("/v1/runs", aRun(from + i, { started_at: at(i) }));
    const sent = Array.from({ length: count }, (_, n) => anEvent(100 * (from + i) + n));
    if (count > 0) await h.post(`/v1/runs/${id}/events`, { events: sent });
    assertEquals((await h.post(`/v1/runs/${id}/finish`, aFinish())).status, 202);
  }
  await h.worker.idle();
}

Harness.test("checks: what is sent is stored, what is not has a default; repeated names count once", async (h) => {
  const defaults = {
    agents: ["*"],
    kinds: ["run", "heartbeat"],
    statuses: ["success", "failed", "timeout", "cancelled"],
    features: [],
    severity: "fail",
    sample: 1,
    enabled: true,
    description: null,
  };
  const expression = "cost_usd < 1.0";
  const nothing = { agents: [], features: [], kinds: null, statuses: null, description: null };
  const { slug: _, id: __, version: ___, created_at, updated_at, updated_by, ...sent } =
    (await put(h, "sent", CHECK)).json;
  assertEquals(sent, CHECK, `${created_at} ${updated_at} ${updated_by}`);
  assertEquals(Object.keys(sent), Object.keys(CHECK));
  for (const body of [{ expression }, { expression, ...nothing }]) {
    const { json } = await put(h, "plain", body);
    assertEquals(json, { ...json, expression, ...defaults });
  }
  const twice = { expression, agents: ["b", "a", "b"], statuses: ["timeout", "failed", "failed"] };
  const { agents, statuses } = (await put(h, "plain", twice)).json;
  assertEquals([agents, statuses], [["b", "a"], ["failed", "timeout"]]);
});

Harness.test("checks: a misspelt name is refused with its place, and nothing is stored", async (h) => {
  const { status, json } = await put(h, "a", { expression: "cost_usd < 1.0 && cost_us < 2.0" });
  assertEquals([status, json.error, json.field], [400, "invalid_field", "expression"]);
  assertStringIncludes(json.message, "cost_us");
  assertMatch((await put(h, "a", { ...CHECK, expresion: "x" })).json.message, /"expression"/);
  assertEquals((await h.get("/v1/checks")).json, { checks: [], cursor: null });
});

Harness.test("checks: the 101st is refused; a change of one of the 100 is not", async (h) => {
  for (let n = 0; n < CHECKS_MAX; n++) await put(h, `c${n}`, { expression: "cost_usd < 1.0" });
  const { status, json } = await put(h, "more", { expression: "cost_usd < 1.0" });
  assertEquals([status, json.error], [403, "object_cap_reached"]);
  assertMatch(json.message, /100 checks/);
  assertEquals((await put(h, "c0", { expression: "cost_usd < 2.0" })).status, 202);
});

operator.test("checks: the record, the list, the statistics and the metrics have the results", async (h) => {
  const expression = "usage.events < 2";
  const { id } = (await put(h, "few-events", { expression })).json;
  await put(h, "noted", { expression, severity: "info" });
  await closeRuns(h, [1, 3]);
  const { checks } = (await h.get(`/v1/runs/${runId(2)}`)).json;
  const [first, second] = checks;
  const { at: judgedAt, got, message, ...result } = first;
  assertEquals(result, {
    check: "few-events",
    id,
    version: 1,
    severity: "fail",
    status: "fail",
    revision: 1,
  });
  assert(judgedAt === at() && got.includes("usage.events") && message.length > 0, got);
  assertEquals([second.check, second.status, second.severity], ["noted", "fail", "info"]);
  const passed = (await h.get(`/v1/runs/${runId(1)}`)).json.checks;
  assertEquals(passed.map(({ status }: { status: string }) => status), ["pass", "pass"]);
  const failed = (await h.get("/v1/runs?has=failed_check")).json.runs;
  assertEquals(failed.map(({ id, has }: { id: string; has: string[] }) => [id, has]), [
    [runId(2), ["failed_check"]],
  ]);
  const stats = (await h.get("/v1/checks/few-events/stats")).json;
  const counts = { pass: 1, fail: 1, error: 0, skipped: 0 };
  assertEquals(stats.days, [{ day: at().slice(0, 10), agent: aRun(1).agent, ...counts }]);
  assertEquals(stats.failures, [{ run_id: runId(2), at: at(), got, message }]);
  assertEquals(stats.cursor, null);
  const metrics = (await h.get("/metrics", { key: OPERATOR_KEY })).text;
  assertMatch(metrics, /^runledger_checks_total\{status="fail"\} 2$/m);
  assertMatch(metrics, /^runledger_checks_total\{status="pass"\} 2$/m);
});

Harness.test("checks: a late event makes a run fail; its statistics follow by the difference", async (h) => {
  await put(h, "few-events", { expression: "usage.events < 2" });
  await closeRuns(h, [1]);
  h.nowMs += 1_000;
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(7)] });
  await h.worker.idle();
  const { checks } = (await h.get(`/v1/runs/${runId(1)}`)).json;
  const results = checks.map(({ status, revision }: { status: string; revision: number }) => [
    status,
    revision,
  ]);
  assertEquals(results, [["fail", 2]]);
  const { days, failures, failing_since } = (await h.get("/v1/checks/few-events/stats")).json;
  assertEquals([days[0].pass, days[0].fail, failures.length], [0, 1, 1]);
  assertEquals(failing_since, at());
  assertEquals((await h.request("DELETE", `/v1/runs/${runId(1)}`)).status, 200);
  await h.worker.idle();
  const { days: none, failures: left } = (await h.get("/v1/checks/few-events/stats")).json;
  assertEquals([none, left], [[], []]);
});

Harness.test("checks: a new price and a late score judge a run again, and its statistics follow", async (h) => {
  const deep = '"depth" in scores && scores.depth > 2.0';
  const all = { priced: "size(unpriced) == 0", cheap: "cost_usd < 0.001", deep };
  for (const [slug, expression] of Object.entries(all)) await put(h, slug, { expression });
  await aClosedRun(h, 1);
  const judged = async () => {
    const { checks, cost } = (await h.getFinal(`/v1/runs/${runId(1)}`)).json;
    const says: Record<string, string> = {};
    for (const { check, status, revision } of checks) {
      assertEquals(revision, cost.revision);
      const { days } = (await h.get(`/v1/checks/${check}/stats`)).json;
      assertEquals([days.length, days[0].pass + days[0].fail, days[0][status]], [1, 1, 1]);
      says[check] = status;
    }
    return says;
  };
  assertEquals(await judged(), { cheap: "pass", deep: "fail", priced: "fail" });
  await putPrice(h);
  await reprice(h);
  assertEquals(await judged(), { cheap: "fail", deep: "fail", priced: "pass" });
  await h.post(`/v1/runs/${runId(1)}/scores`, aScore(1, { name: "depth", value: 3 }));
  await h.worker.idle();
  assertEquals(await judged(), { cheap: "fail", deep: "pass", priced: "pass" });
});

Harness.test("checks: statistics say since when a check fails", async (h) => {
  await put(h, "few-events", { expression: "usage.events < 2" });
  const since = async () => (await h.get("/v1/checks/few-events/stats")).json.failing_since;
  assertEquals(await since(), null);
  await closeRuns(h, [3]);
  assertEquals(await since(), at());
  h.nowMs += 1_000;
  await closeRuns(h, [1], 2);
  assertEquals(await since(), null);
  h.nowMs += 1_000;
  await closeRuns(h, [3], 3);
  h.nowMs += 1_000;
  await closeRuns(h, [3], 4);
  assertEquals(await since(), at(2_000));
});

Harness.test("checks: statistics are paged by day and agent, within the range", async (h) => {
  await put(h, "few-events", { expression: "usage.events < 2" });
  const DAY_MS = 86_400_000;
  for (let n = 1; n <= 4; n++) {
    const agent = `agent ${n % 2}`;
    const day = Math.floor((n - 1) / 2);
    await h.post("/v1/runs", aRun(n, { agent, started_at: at(-day * DAY_MS) }));
    await h.post(`/v1/runs/${runId(n)}/finish`, aFinish());
  }
  await h.worker.idle();
  const seen: string[] = [];
  let cursor: string | null = "";
  do {
    const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const page = (await h.get(`/v1/checks/few-events/stats?limit=1${more}`)).json;
    for (const { day, agent, pass } of page.days) seen.push(`${day} ${agent} ${pass}`);
    cursor = page.cursor;
  } while (cursor !== null);
  const [today, before] = [at(), at(-DAY_MS)].map((instant) => instant.slice(0, 10));
  assertEquals(seen, [
    `${before} agent 0 1`,
    `${before} agent 1 1`,
    `${today} agent 0 1`,
    `${today} agent 1 1`,
  ]);
  const range = (await h.get(`/v1/checks/few-events/stats?to=${before}`)).json;
  assertEquals(range.days.map(({ day }: { day: string }) => day), [before, before]);
});

Harness.test("checks: an output that is not stored as sent cannot be decided", async (h) => {
  await put(h, "no-error", { expression: "!has(output.error)" });
  await h.post("/v1/runs", aRun(1));
  const output = { text: "x".repeat(600_000), error: "lost" };
  assertEquals((await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ output }))).status, 202);
  await h.worker.idle();
  const [result] = (await h.get(`/v1/runs/${runId(1)}`)).json.checks;
  assertEquals([result.status, result.reason], ["error", "output_truncated"]);
});

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

function tryCheck(h: Harness, body: object): Promise<Answer> {
  return h.post("/v1/checks/try", body);
}

/** Stores runs that differ in all that {@link EXPRESSIONS} name. */
async function storeRuns(h: Harness): Promise<void> {
  for (let n = 1; n <= 6; n++) {
    await h.post("/v1/runs", aRun(n, { goal: n % 2 === 0 ? "find it" : "go" }));
    const tool = { type: "tool_call", data: { name: n % 3 === 0 ? "search" : "read" } };
    const events = Array.from({ length: n % 4 }, (_, i) => anEvent(100 * n + i, i % 2 ? tool : {}));
    if (events.length > 0) await h.post(`/v1/runs/${runId(n)}/events`, { events });
    const output = n % 2 === 0 ? { output: { answer: 40 + n } } : {};
    const scores = n === 3 ? {} : { scores: { quality: n / 10 } };
    const status = n === 5 ? { status: "failed" } : {};
    const finish = aFinish({ ...output, ...scores, ...status });
    assertEquals((await h.post(`/v1/runs/${runId(n)}/finish`, finish)).status, 202);
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
