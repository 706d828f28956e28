/** `GET /v1/live` over the socket. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { LISTENERS_MAX } from "../../domain/core/limits.ts";
import { aFinish, aHeartbeat, anEvent, aRun, runId } from "../support/builders/requests.ts";
import { Harness, oneInstance } from "../support/harness/harness.ts";
import { aTeam, operate, operator } from "../support/harness/operator.ts";
import { briefly, follow, type Listener, type StreamEvent } from "../support/harness/live.ts";
import { until } from "../support/harness/until.ts";

Harness.test("live: a run is sent when it opens, ends and gets its cost, each time as in lists", async (h) => {
  await using listener = await follow(h);
  await h.post("/v1/runs", aRun(1));
  const [opened] = await listener.events(1);
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  const [finished, final] = await listener.events(2);
  assertEquals([opened, finished, final].map((event) => briefly(event as StreamEvent)), [
    "run.opened 1",
    "run.finished 1",
    "run.cost_final 1",
  ]);
  assertEquals([opened?.data.status, finished?.data.status], ["running", "success"]);
  assertEquals(final?.data, (await h.get("/v1/runs")).json.runs[0]);
  // A changed cost becomes final again.
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] });
  const [again] = await listener.events(1);
  assertEquals([again?.event, again?.data.cost.revision], ["run.cost_final", 2]);
});

Harness.test("live: a run is sent when its checks judge it, at once or later", async (h) => {
  const put = (slug: string, expression: string) =>
    h.request("PUT", `/v1/checks/${slug}`, { key: h.key, body: { expression } });
  await put("cheap", "cost_usd < 1");
  await using listener = await follow(h);
  await h.post("/v1/heartbeats", aHeartbeat(1));
  const atOnce = await listener.events(4);
  assertEquals(atOnce.map(briefly).slice(2), ["run.cost_final 1", "run.checked 1"]);
  await put("no-tools", "size(tools) == 0");
  await h.post("/v1/runs", aRun(2));
  await listener.events(1);
  await h.post(`/v1/runs/${runId(2)}/events`, { events: [anEvent(1, { type: "tool_call" })] });
  await h.post(`/v1/runs/${runId(2)}/finish`, aFinish());
  const later = await listener.events(3);
  assertEquals(later.map(briefly), ["run.finished 2", "run.cost_final 2", "run.checked 2"]);
  assertEquals(later[2]?.data.has, ["failed_check"]);
  assertEquals((await h.get("/v1/runs?has=failed_check")).json.runs, [later[2]?.data]);
});

Harness.test("live: it starts with the present, and its event ids are cursors of the feed", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1));
  await h.worker.idle();
  const { next_cursor } = (await h.get("/v1/changes")).json;
  await using listener = await follow(h);
  assertEquals(listener.lastId, next_cursor);
  await h.post("/v1/heartbeats", aHeartbeat(2));
  const events = await listener.events(3);
  assertEquals(events.map(briefly), ["run.opened 2", "run.finished 2", "run.cost_final 2"]);
  // A client disconnected between them receives all of them again.
  assertEquals(events.map(({ id }) => id !== null), [false, false, true]);
  assertEquals((await h.get(`/v1/changes?after=${next_cursor}`)).json.next_cursor, events[2]?.id);
});

Harness.test("live: a client that reconnects with its last event id misses and repeats nothing", async (h) => {
  const received: string[] = [];
  let position: string | undefined;
  for (let round = 0; round < 3; round++) {
    const n = 3 * round;
    await h.post("/v1/heartbeats", aHeartbeat(n + 1));
    await h.worker.idle();
    const options = position === undefined ? { query: `?after=${await beginning(h)}` } : {
      lastEventId: position,
    };
    await using listener = await follow(h, options);
    await h.post("/v1/heartbeats", aHeartbeat(n + 2));
    await h.worker.idle();
    received.push(...(await listener.events(6)).map(briefly));
    position = listener.lastId;
    await h.restart();
    await h.post("/v1/heartbeats", aHeartbeat(n + 3));
    await h.worker.idle();
    await using later = await follow(h, { lastEventId: position });
    received.push(...(await later.events(3)).map(briefly));
    position = later.lastId;
  }
  const expected = Array.from({ length: 9 }, (_, i) => [`run.opened ${i + 1}`, ...ends(i + 1)]);
  assertEquals(received, expected.flat());
});

const ends = (n: number) => [`run.finished ${n}`, `run.cost_final ${n}`];

/** The cursor of an empty feed. */
async function beginning(h: Harness): Promise<string> {
  const { key } = await h.addTeam("team");
  return (await h.get("/v1/changes", { key })).json.next_cursor;
}

Harness.test("live: filters leave out other runs, and other teams' runs are never sent", async (h) => {
  const { key } = await h.addTeam("business");
  await using failed = await follow(h, { query: "?status=failed" });
  await using acme = await follow(h, { query: "?customer_id=acme&kind=heartbeat" });
  await using nobody = await follow(h, { query: "?customer_id=(unattributed)&agent=lonely" });
  await h.post("/v1/heartbeats", aHeartbeat(1, { customer_id: "acme", status: "fail" }));
  await h.post("/v1/heartbeats", aHeartbeat(9, { customer_id: "acme", status: "fail" }), { key });
  await h.post("/v1/heartbeats", aHeartbeat(2, { customer_id: "globex", status: "fail" }));
  await h.post("/v1/heartbeats", aHeartbeat(3, { customer_id: "acme", agent: "lonely" }));
  await h.post("/v1/heartbeats", aHeartbeat(4, { agent: "lonely" }));
  const finished = async (listener: Listener, count: number) =>
    (await listener.events(3 * count)).filter(({ event }) => event === "run.finished")
      .map(briefly);
  assertEquals(await finished(failed, 2), ["run.finished 1", "run.finished 2"]);
  assertEquals(await finished(acme, 2), ["run.finished 1", "run.finished 3"]);
  assertEquals(await finished(nobody, 1), ["run.finished 4"]);
});

Harness.test("live: a stream ends within about a second when its credential is revoked", async (h) => {
  const created = (await h.post("/v1/keys", { kind: "api_key", name: "l", scopes: ["read"] })).json;
  await using listener = await follow(h, { key: created.secret });
  await using other = await follow(h);
  await h.request("DELETE", `/v1/keys/${created.id}`);
  assertEquals((await listener.rest()).filter(({ event }) => event !== null), []);
  await h.post("/v1/runs", aRun(1));
  assertEquals((await other.events(1)).map(briefly), ["run.opened 1"]);
});

operator.test("live: a stream ends within about a second when its team is suspended, others continue", async (h) => {
  const { id, key } = await aTeam(h);
  await using listener = await follow(h, { key: key.secret });
  await using other = await follow(h);
  const suspended = await operate(h, "PATCH", `/v1/teams/${id}`, { suspended: true });
  assertEquals(suspended.status, 200);
  assertEquals((await listener.rest()).filter(({ event }) => event !== null), []);
  await h.post("/v1/runs", aRun(1));
  assertEquals((await other.events(1)).map(briefly), ["run.opened 1"]);
});

Harness.test("live: stopping the service ends every stream immediately and completely", async (h) => {
  const listeners = await Promise.all(Array.from({ length: 20 }, () => follow(h)));
  await h.post("/v1/runs", aRun(1));
  for (const listener of listeners) await listener.events(1);
  const startMs = performance.now();
  const restarted = h.restart();
  const ends = await Promise.all(listeners.map((listener) => listener.rest()));
  assert(performance.now() - startMs < 2_000);
  await restarted;
  assertEquals(ends.flat(), []);
  for (const listener of listeners) await listener[Symbol.asyncDispose]();
});

oneInstance.test("live: a team's concurrent streams are limited, an ended stream frees a slot, other teams are not affected", async (h) => {
  const { key } = await h.addTeam("team");
  const listeners: Listener[] = [];
  for (let n = 0; n < LISTENERS_MAX.team; n++) listeners.push(await follow(h));
  const refused = await h.get("/v1/live");
  assertEquals([refused.status, refused.json.error], [429, "rate_limit"]);
  assertEquals(refused.headers.get("retry-after"), "1");
  assertEquals((await h.get("/v1/changes?wait=1")).status, 429);
  // This call does not wait.
  assertEquals((await h.get("/v1/changes")).status, 200);
  await using _other = await follow(h, { key });
  await listeners.pop()?.[Symbol.asyncDispose]();
  // The service notices a moment later.
  listeners.push(await until(() => follow(h).catch(() => null)));
  for (const listener of listeners) await listener[Symbol.asyncDispose]();
});

Harness.test("live: HEAD returns the headers and opens nothing; a stream's start is logged", async (h) => {
  h.log.length = 0;
  const head = await h.request("HEAD", "/v1/live");
  assertEquals([head.status, head.headers.get("content-type")], [200, "text/event-stream"]);
  assertStringIncludes(head.headers.get("cache-control") ?? "", "no-transform");
  await using _listener = await follow(h);
  const routes = h.log.map((line) => JSON.parse(line)).map(({ route, status }) =>
    `${status} ${route}`
  );
  assertEquals(routes, ["200 GET /v1/live", "200 GET /v1/live"]);
  await assertRejects(() => follow(h, { query: "?after=nope" }), Error, "invalid_field");
});
