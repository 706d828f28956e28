/** `GET /v1/changes` over the socket, also of two services on one shared KV. */
import { assert, assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { KvServer } from "../support/fakes/kv_server.ts";
import { briefly, follow } from "../support/harness/live.ts";

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

const RUNS = 12;

/** Events of a run, each in a call of its own; some arrive after its finish. */
const EVENTS = { before: 3, after: 2 } as const;

/** Follows the feed, each page from another service, until `isOver` and its end. */
async function followedStates(
  services: readonly Harness[],
  limit: number,
  isOver: () => boolean,
): Promise<Map<string, string[]>> {
  const states = new Map<string, string[]>();
  let after = "";
  for (let page = 0;; page++) {
    const isLast = isOver();
    const { status, json } = await serviceOf(services, page).get(
      `/v1/changes?limit=${limit}${after}`,
    );
    assertEquals(status, 200);
    for (const { run } of json.changes) {
      states.set(run.id, [...states.get(run.id) ?? [], JSON.stringify(run)]);
    }
    after = `&after=${json.next_cursor}`;
    if (isLast && !json.has_more) return states;
  }
}

function serviceOf(services: readonly Harness[], n: number): Harness {
  return services[n % services.length] as Harness;
}

/** Opens a run, changes it and closes it, each call at another service. */
async function change(services: readonly Harness[], n: number): Promise<void> {
  let call = n;
  const post = async (path: string, body: unknown) => {
    const { status } = await serviceOf(services, call++).post(path, body);
    assertEquals(status, 202, path);
  };
  const append = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => anEvent(100 * n + from + i));
  await post("/v1/runs", aRun(n));
  for (const event of append(0, EVENTS.before)) {
    await post(`/v1/runs/${runId(n)}/events`, { events: [event] });
  }
  await post(`/v1/runs/${runId(n)}/finish`, aFinish());
  for (const event of append(EVENTS.before, EVENTS.after)) {
    await post(`/v1/runs/${runId(n)}/events`, { events: [event] });
  }
}

for (const instances of [1, 2]) {
  KvServer.test(`changes: followers of ${instances} on a shared KV that loses answers see each state once`, async (server) => {
    await using opened = new AsyncDisposableStack();
    const services: Harness[] = [];
    while (services.length < instances) {
      services.push(opened.use(await Harness.open({ kv: server.url() })));
    }
    // The agent of all runs: its first call takes several commits.
    await services[0]?.post("/v1/runs", aRun(RUNS));
    server.knobs.delayMs = 4;
    server.knobs.answer = () => server.counts.commits % 7 === 0 ? "lost" : "sent";
    let isOver = false;
    const limits = [2, 7, 500];
    const following = limits.map((limit) => followedStates(services, limit, () => isOver));
    await Promise.all(Array.from({ length: RUNS }, (_, n) => change(services, n)));
    // Any of them may process the runs.
    await Promise.all(Array.from({ length: RUNS }, async (_, n) => {
      const { json } = await serviceOf(services, n).get(`/v1/runs/${runId(n)}?wait=final`);
      assertEquals(json.cost.state, "final");
    }));
    isOver = true;
    assert(server.counts.lost > 0, "no answer was lost");
    const { runs } = (await services[0]?.get("/v1/runs?limit=500"))?.json;
    assertEquals(runs.length, RUNS + 1);
    for (const states of await Promise.all(following)) {
      for (const [id, seen] of states) assertEquals(new Set(seen).size, seen.length, `${id} twice`);
      // Each follower ends with the list.
      for (const run of runs) assertEquals(states.get(run.id)?.at(-1), JSON.stringify(run));
    }
  });
}

KvServer.test("shared KV: streams and long polls see calls to another service", async (server) => {
  await using writing = await Harness.open({ kv: server.url() });
  await using reading = await Harness.open({ kv: server.url() });
  await using listener = await follow(reading);
  const cursor = (await reading.get("/v1/changes")).json.next_cursor;
  const waiting = reading.get(`/v1/changes?after=${cursor}&wait=30`);
  await writing.post("/v1/runs", aRun(1));
  assertEquals((await listener.events(1)).map(briefly), ["run.opened 1"]);
  assertEquals((await waiting).json.changes[0].run.id, runId(1));
  const final = reading.get(`/v1/runs/${runId(1)}?wait=final`);
  await writing.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  assertEquals((await final).json.cost.state, "final");
  const ends = ["run.finished 1", "run.cost_final 1"];
  assertEquals((await listener.events(2)).map(briefly), ends);
});

/** Milliseconds that a deletion waits for its job; the answer is then 202. */
const WAIT_MS = 5_000;

KvServer.test("jobs: each of two services on a shared KV answers once the deletion is done", async (server) => {
  await using first = await Harness.open({ kv: server.url() });
  await using second = await Harness.open({ kv: server.url() });
  for (const [n, service] of [first, second].entries()) {
    const customer = `customer-${n}`;
    const sent = await service.post("/v1/heartbeats", { ...aHeartbeat(n), customer_id: customer });
    assertEquals(sent.status, 202);
    const startMs = performance.now();
    const { status, json } = await service.request("DELETE", `/v1/customers/${customer}`);
    assertEquals([status, json.runs], [200, 1]);
    assert(performance.now() - startMs < WAIT_MS, "it waited until the end");
  }
});
