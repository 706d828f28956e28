/** `GET /v1/changes` over the socket. */
import { assert, assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

// deno-lint-ignore no-explicit-any -- what an answer shows
type Shown = any;

/** Reads the feed from a cursor to its end, page by page. */
async function readAll(h: Harness, limit: number, after?: string): Promise<Shown[]> {
  const results: Shown[] = [];
  for (let cursor = after;;) {
    const query = cursor === undefined ? "" : `&after=${cursor}`;
    const { status, json } = await h.get(`/v1/changes?limit=${limit}${query}`);
    assertEquals(status, 200);
    assert(json.changes.length <= limit);
    results.push(...json.changes);
    cursor = json.next_cursor;
    if (!json.has_more) return results;
  }
}

const idsOf = (changes: Shown[]) => changes.map(({ run, deleted }) => (run ?? deleted).id);

Harness.test("changes: each run once, as in lists, in order of its last change", async (h) => {
  for (const n of [1, 2, 3]) await h.post("/v1/runs", aRun(n));
  await h.worker.idle();
  await h.post(`/v1/runs/${runId(2)}/finish`, aFinish());
  await h.worker.idle();
  const all = await readAll(h, 2);
  assertEquals(idsOf(all), [1, 3, 2].map((n) => runId(n)));
  const { runs } = (await h.get("/v1/runs")).json;
  const byId = new Map(runs.map((row: Shown) => [row.id, row]));
  for (const { run } of all) assertEquals(run, byId.get(run.id));
  assertEquals(all[2].run.cost.state, "final");
});

Harness.test("changes: a cursor is followed by later changes only, also after a restart", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  const { next_cursor } = (await h.get("/v1/changes")).json;
  assertEquals((await h.get(`/v1/changes?after=${next_cursor}`)).json, {
    changes: [],
    next_cursor,
    has_more: false,
  });
  await h.restart();
  await h.post("/v1/heartbeats", aHeartbeat(2));
  await h.worker.idle();
  assertEquals(idsOf(await readAll(h, 10, next_cursor)), [runId(2)]);
  assertEquals(idsOf(await readAll(h, 10)), [runId(1), runId(2)]);
});

Harness.test("changes: a deleted run is listed as deleted", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  const { next_cursor } = (await h.get("/v1/changes")).json;
  await h.request("DELETE", `/v1/runs/${runId(1)}`);
  const [{ deleted }] = await readAll(h, 10, next_cursor);
  assertEquals(deleted, { id: runId(1), deleted_at: new Date(h.nowMs).toISOString() });
  assertEquals(idsOf(await readAll(h, 10)), [runId(1)]);
});

Harness.test("changes: the feed has nothing of another team, whose cursors are not valid in it", async (h) => {
  const { key } = await h.addTeam("team");
  for (const n of [1, 2, 3]) await h.post("/v1/runs", aRun(n));
  await h.worker.idle();
  const { json } = await h.get("/v1/changes", { key });
  assertEquals([json.changes, json.has_more], [[], false]);
  const { next_cursor } = (await h.get("/v1/changes")).json;
  assertEquals((await h.get(`/v1/changes?after=${next_cursor}`, { key })).json.field, "after");
});

Harness.test("changes: wait answers with the first change, immediately if there is one", async (h) => {
  const { next_cursor } = (await h.get("/v1/changes")).json;
  const waiting = h.get(`/v1/changes?after=${next_cursor}&wait=30`);
  await h.post("/v1/runs", aRun(1));
  const first = (await waiting).json;
  assertEquals(idsOf(first.changes), [runId(1)]);
  assertEquals((await h.get(`/v1/changes?after=${next_cursor}&wait=30`)).json, first);
});

Harness.test("changes: a wait without a change times out with an empty page", async (h) => {
  const startMs = performance.now();
  const { json } = await h.get("/v1/changes?wait=1");
  assertEquals([json.changes, json.has_more], [[], false]);
  assert(performance.now() - startMs >= 990);
});

Deno.test("changes: where a response may not be silent for long, a wait ends before that", async () => {
  await using h = await Harness.open({ deps: { silentMsMax: 50 } });
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  const startMs = performance.now();
  const { next_cursor } = (await h.get("/v1/changes")).json;
  const { json } = await h.get(`/v1/changes?after=${next_cursor}&wait=30`);
  assertEquals([json.changes, json.next_cursor], [[], next_cursor]);
  assertEquals((await h.get(`/v1/runs/${runId(1)}?wait=final`)).json.status, "running");
  assert(performance.now() - startMs < 3_000);
});

Harness.test("changes: waiting requests are answered when the service stops", async (h) => {
  const waiting = h.get("/v1/changes?wait=30");
  // Another request of the same connection would wait for the first.
  await h.get("/healthz", { key: null });
  const startMs = performance.now();
  const restarted = h.restart();
  assertEquals((await waiting).json.changes, []);
  assert(performance.now() - startMs < 3_000);
  await restarted;
});
