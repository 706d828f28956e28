/** Parents, children and traces of runs, and a run's cost including its descendants. */
import { assertEquals } from "@std/assert";
import { CHILDREN_MAX, DESCENDANTS } from "../../domain/core/limits.ts";
import { aFinish, aHeartbeat, aRun, at, runId } from "../support/builders/requests.ts";
import { enterprise, Harness } from "../support/harness/harness.ts";
import { assertClean } from "../support/oracles/stray_rows.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const TRACED = { headers: { traceparent: `00-${TRACE}-${SPAN}-01` } };

/**
 * Opens run `n` as a child of `parent`, started `n` milliseconds after noon, at a cost of `n`
 * dollars.
 */
async function start(h: Harness, n: number, parent: number | null, key = h.key): Promise<void> {
  const link = parent === null ? {} : { parent_run_id: runId(parent) };
  const opened = await h.post("/v1/runs", aRun(n, { started_at: at(n), ...link }), { key });
  assertEquals(opened.status, 202, opened.text);
}

/** The same as one call of a model that costs a dollar per token. */
async function spend(h: Harness, n: number, tokens = n, key = h.key): Promise<void> {
  const event = {
    id: runId(n).replace("run", "evt"),
    type: "llm_call",
    ts: at(n),
    data: { model: "dear", input_tokens: tokens },
  };
  await h.post(`/v1/runs/${runId(n)}/events`, { events: [event] }, { key });
}

async function price(h: Harness): Promise<void> {
  const body = { model: "dear", input_usd_per_million: 1_000_000, output_usd_per_million: 0 };
  const { status, text } = await h.request("PUT", "/v1/rate-card", { body });
  assertEquals(status, 202, text);
}

async function read(h: Harness, n: number, key = h.key) {
  const { status, json, text } = await h.getFinal(`/v1/runs/${runId(n)}`, { key });
  assertEquals(status, 200, text);
  return json;
}

const ids = (...numbers: number[]) => numbers.map((n) => runId(n));

Harness.test("links: children are listed on their parent, latest start first, in any order of arrival", async (h) => {
  await start(h, 2, 1);
  await start(h, 3, 1);
  await h.worker.idle();
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 404);
  await start(h, 1, null);
  await start(h, 4, 1);
  assertEquals((await read(h, 1)).links, { parent: null, children: ids(4, 3, 2) });
  assertEquals((await read(h, 2)).links, { parent: runId(1), children: [] });
  await assertClean(h.store);
});

Harness.test("links: a run has its own cost, and a cost including its descendants", async (h) => {
  await price(h);
  // 1 → 2 → 4 → 5, and 1 → 3.
  for (const [n, parent] of [[5, 4], [4, 2], [3, 1], [2, 1], [1, null]] as const) {
    await start(h, n, parent);
    await spend(h, n);
  }
  const costs = async (n: number) => {
    const { cost_usd, cost_with_children_usd } = await read(h, n);
    return [cost_usd, cost_with_children_usd];
  };
  assertEquals(await costs(1), [1, 15]);
  assertEquals(await costs(2), [2, 11]);
  assertEquals(await costs(3), [3, 3]);
  await h.post(`/v1/runs/${runId(5)}/finish`, aFinish());
  await spend(h, 5, 0);
  assertEquals(await costs(1), [1, 15]);
  assertEquals((await h.request("DELETE", `/v1/runs/${runId(4)}`)).status, 200);
  assertEquals(await costs(1), [1, 6]);
  assertEquals((await read(h, 2)).links.children, []);
  // The deleted run is still the parent of its child.
  assertEquals((await read(h, 5)).links.parent, runId(4));
  await assertClean(h.store);
});

Harness.test("links: self-references and cycles count each run once", async (h) => {
  await price(h);
  for (const [n, parent] of [[1, 3], [2, 1], [3, 2], [7, 7]] as const) {
    await start(h, n, parent);
    await spend(h, n);
  }
  for (const n of [1, 2, 3]) assertEquals((await read(h, n)).cost_with_children_usd, 6);
  const { links, cost_with_children_usd } = await read(h, 7);
  assertEquals(links, { parent: runId(7), children: [runId(7)] });
  assertEquals(cost_with_children_usd, 7);
});

Harness.test("links: a parent of another team is answered like an unknown id", async (h) => {
  await price(h);
  const other = await h.addTeam("business");
  await start(h, 1, null, other.key);
  await start(h, 2, 1);
  await start(h, 3, 99);
  await spend(h, 2);
  assertEquals((await read(h, 1, other.key)).links, { parent: null, children: [] });
  assertEquals((await read(h, 1, other.key)).cost_with_children_usd, 0);
  const [foreign, unknown] = [await read(h, 2), await read(h, 3)];
  assertEquals([foreign.links.parent, unknown.links.parent], ids(1, 99));
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).status, 404);
  // The same id in both teams: each has its own family.
  await start(h, 1, null);
  assertEquals((await read(h, 1)).links.children, ids(2));
  assertEquals((await read(h, 1, other.key)).links.children, []);
});

enterprise.test("links: of very many children the latest are listed, and the omission is reported", async (h) => {
  await price(h);
  const opened = async (from: number, to: number) => {
    const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i);
    await Promise.all(numbers.map((n) => start(h, n, 1)));
    await Promise.all(numbers.map((n) => spend(h, n, 1)));
  };
  await start(h, 1, null);
  await opened(2, 1 + CHILDREN_MAX);
  const all = await read(h, 1);
  const latest = Array.from({ length: CHILDREN_MAX }, (_, i) => runId(1 + CHILDREN_MAX - i));
  assertEquals(all.links, { parent: null, children: latest });
  await opened(2 + CHILDREN_MAX, 1 + DESCENDANTS.max);
  const more = await read(h, 1);
  assertEquals([more.links.children_cut, more.links.cost_cut], [true, undefined]);
  assertEquals(more.links.children.length, CHILDREN_MAX);
  assertEquals(more.cost_with_children_usd, DESCENDANTS.max);
  await opened(2 + DESCENDANTS.max, 2 + DESCENDANTS.max);
  const cut = await read(h, 1);
  assertEquals([cut.links.cost_cut, cut.cost_with_children_usd], [true, DESCENDANTS.max]);
});

Harness.test("links: generations beyond the limit are reported as omitted", async (h) => {
  await price(h);
  const last = 1 + DESCENDANTS.generations;
  for (let n = 1; n <= last; n++) {
    await start(h, n, n - 1);
    await spend(h, n, 1);
  }
  const complete = await read(h, 1);
  assertEquals([complete.links.cost_cut, complete.cost_with_children_usd], [undefined, last]);
  await start(h, last + 1, last);
  await spend(h, last + 1, 1);
  const cut = await read(h, 1);
  assertEquals([cut.links.cost_cut, cut.cost_with_children_usd], [true, last]);
});

Harness.test("links: a valid traceparent is stored with the opening, an invalid one is ignored", async (h) => {
  const linkOf = async (n: number) => (await read(h, n)).links;
  const traced = { parent: null, children: [], trace_id: TRACE, parent_span_id: SPAN };
  await h.post("/v1/runs", aRun(1), TRACED);
  assertEquals(await linkOf(1), traced);
  // The first opening is kept, whatever a retry sends.
  assertEquals((await h.post("/v1/runs", aRun(1))).status, 200);
  assertEquals(await linkOf(1), traced);
  await h.post("/v1/heartbeats", aHeartbeat(2), TRACED);
  assertEquals(await linkOf(2), traced);
  await h.get(`/v1/ping?agent=nightly&id=${runId(3)}`, TRACED);
  assertEquals(await linkOf(3), traced);
  await h.post("/v1/heartbeats", aHeartbeat(4, { status: "start" }), TRACED);
  await h.post("/v1/heartbeats", aHeartbeat(4));
  assertEquals(await linkOf(4), traced);
  const invalid = { headers: { traceparent: `00-${TRACE}-${"0".repeat(16)}-01` } };
  await h.post("/v1/runs", aRun(5), invalid);
  assertEquals(await linkOf(5), { parent: null, children: [] });
});
