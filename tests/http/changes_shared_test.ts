/** `GET /v1/changes` of two services on one shared KV, while runs change. */
import { assert, assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";
import { KvServer } from "../support/fakes/kv_server.ts";
import { briefly, follow } from "../support/harness/live.ts";

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
