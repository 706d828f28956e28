/** Results and statistics of checks do not depend on the order or repetition of a run's parts. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { SEED } from "../../support/harness/seed.ts";
import { ATLAS, putPrice, reprice } from "../../support/builders/reprice.ts";
import { aFinish, anEvent, aRun, aScore, at, runId } from "../../support/builders/requests.ts";
import { type Answer, Harness } from "../../support/harness/harness.ts";

/** Checks by slug; those of the second half read events. */
const CHECKS: Readonly<Record<string, string>> = {
  "all-priced": "size(unpriced) == 0",
  "answers": "output.answer == 42",
  "cheap": "cost_usd < 0.001",
  "ends-well": 'status == "success" && duration_ms >= 5000',
  "good": "scores.good == true && scores.depth > 2.0",
  "few-errors": "usage.errors == 0",
  "labelled": 'feature == "f" && metadata.b == 2',
  "asks-atlas": `calls.exists(c, c.model == "${ATLAS.model}")`,
  "first-search": 'tools[0].name == "search"',
  "no-loop": "longest_repeat.times < 2",
  "no-removal": '!tools.exists(t, t.name == "remove")',
  "with-children": "cost_with_children_usd < 0.001",
};

/** A call of a run. */
interface Call {
  readonly name: string;
  send(h: Harness, run: number): Promise<Answer>;
}

function call(name: string, path: string, body: (run: number) => unknown): Call {
  const pathOf = (run: number) => path.replace("{id}", runId(run));
  return { name, send: (h, run) => h.post(pathOf(run), body(run)) };
}

const tool = (n: number, name: string, input: unknown, ms = 0) =>
  anEvent(n, { type: "tool_call", ts: at(ms), data: { name, input } });
const score = (n: number, ms: number, value: unknown) =>
  anEvent(n, { type: "score", ts: at(ms), data: { name: "good", value } });
const llmCall = (n: number) =>
  anEvent(n, { type: "llm_call", data: { ...ATLAS, input_tokens: 1_000, output_tokens: 100 } });

/** Batches overlap; the tool calls of one instant are in their order only by their ids. */
const BATCHES = [
  [llmCall(1), tool(2, "search", { a: 1, b: 2 }), score(3, 900, false)],
  [tool(5, "remove", "x", 1), tool(4, "list", null), tool(2, "search", { a: 1, b: 2 })],
  [score(6, 100, true), tool(7, "search", { b: 2, a: 1 }), anEvent(8, { data: { error: "bad" } })],
];

const labels = { customer_id: "c", feature: "f", metadata: { b: 1 } };
const EVENTS = BATCHES.map((events, i) =>
  call(`batch ${i}`, "/v1/runs/{id}/events", () => ({ events }))
);
const SCORE = call(
  "score",
  "/v1/runs/{id}/scores",
  (run) => aScore(run, { name: "depth", value: 3 }),
);
const finish = aFinish({ output: { answer: 42 }, scores: { good: true }, metadata: { b: 2 } });
const FINISH = call("finish", "/v1/runs/{id}/finish", () => finish);

/** The calls of a run, and those of a heartbeat, whose start may come late. */
const KINDS: Readonly<Record<string, readonly Call[]>> = {
  run: [
    call("open", "/v1/runs", (run) => aRun(run, { agent: `run-${run}`, ...labels })),
    ...EVENTS,
    SCORE,
    FINISH,
  ],
  heartbeat: [
    call("start", "/v1/heartbeats", (run) => ({
      ...{ id: runId(run), agent: `run-${run}`, status: "start", started_at: at(), ...labels },
    })),
    ...EVENTS,
    SCORE,
    call("finish", "/v1/runs/{id}/finish", () => finish),
  ],
};

/** A heartbeat starts once; the other calls may come in any order and repeat. */
const orders = fc.constantFrom(...Object.keys(KINDS)).chain((kind) => {
  const calls = KINDS[kind] as readonly Call[];
  return fc.array(fc.constantFrom(...calls), { maxLength: 5 })
    .chain((more) =>
      fc.shuffledSubarray([...calls, ...more], { minLength: calls.length + more.length })
    )
    .chain((order) =>
      fc.record({
        kind: fc.constant(kind),
        order: fc.constant(order),
        /** After which calls the worker does everything. */
        pauses: fc.array(fc.boolean(), { minLength: order.length, maxLength: order.length }),
      })
    );
});

async function putChecks(h: Harness): Promise<void> {
  for (const [slug, expression] of Object.entries(CHECKS)) {
    const { status, text } = await h.request("PUT", `/v1/checks/${slug}`, { body: { expression } });
    assertEquals(status, 202, text);
  }
}

/** Returns the results of a run without their instants and revisions. */
async function resultsOf(h: Harness, run: number) {
  const { json } = await h.getFinal(`/v1/runs/${runId(run)}`);
  assertEquals(json.status, "success");
  // deno-lint-ignore no-explicit-any -- results of a response
  return json.checks.map(({ at: _, revision, ...result }: any) => {
    assertEquals(revision, json.cost.revision);
    return result;
  });
}

Harness.test("checks: any order and repetition of a run's parts, and new prices, give the same results and statistics", async (h) => {
  await putChecks(h);
  const kinds: string[] = [];
  const play = async (
    { kind, order, pauses }: { kind: string; order: readonly Call[]; pauses: readonly boolean[] },
  ) => {
    const run = 8 * (kinds.push(kind) - 1) + 24;
    for (const [i, each] of order.entries()) {
      h.nowMs += 10;
      const { status, text } = await each.send(h, run);
      assert(status === 202 || status === 200, `${each.name}: ${status} ${text}`);
      if (pauses[i]) await h.worker.idle();
    }
    return await resultsOf(h, run);
  };
  const first = new Map<string, unknown>();
  for (const [kind, order] of Object.entries(KINDS)) {
    const results = await play({ kind, order, pauses: order.map(() => false) });
    first.set(kind, results);
    // deno-lint-ignore no-explicit-any -- results of a response
    const failed = results.filter(({ status }: any) => status !== "pass")
      // deno-lint-ignore no-explicit-any -- results of a response
      .map(({ check, status }: any) => `${check} ${status}`);
    assertEquals(failed, [
      "all-priced fail",
      "few-errors fail",
      "good fail",
      "no-removal fail",
    ]);
  }
  const property = fc.asyncProperty(orders, async (each) => {
    assertEquals(await play(each), first.get(each.kind));
  });
  await fc.assert(property, { seed: SEED, numRuns: 25 });

  await putPrice(h);
  await reprice(h);
  const priced = await Promise.all(kinds.map((_, n) => resultsOf(h, 8 * n + 24)));
  for (const [n, results] of priced.entries()) {
    assertEquals(results, priced[0], `run ${n} of ${kinds.length}`);
  }
  assertEquals(statusOf(priced[0], "all-priced"), "pass");
  assertEquals(statusOf(priced[0], "cheap"), "fail");
  for (const slug of Object.keys(CHECKS)) {
    const { days } = (await h.get(`/v1/checks/${slug}/stats?from=2026-11-21&to=2026-11-21`)).json;
    const status = statusOf(priced[0], slug);
    const counts = { pass: 0, fail: 0, error: 0, skipped: 0, [status]: 1 };
    const agents = kinds.map((_, n) => `run-${8 * n + 24}`).sort();
    const wanted = agents.map((agent) => ({ day: "2026-11-21", agent, ...counts }));
    assertEquals(days, wanted, slug);
  }
});

// deno-lint-ignore no-explicit-any -- results of a response
function statusOf(results: any, slug: string): string {
  return results.find(({ check }: { check: string }) => check === slug).status;
}
