/** Runs that are idle: closed at the deadline of their openings, reopened by events, replaced by calls. */
import { assert, assertEquals } from "@std/assert";
import { keyParts, keys } from "../../kv/base/keys.ts";
import { verifyStore } from "../../kv/integrity/integrity.ts";
import { aFinish, aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness, NOON } from "../support/harness/harness.ts";
import { briefly, follow } from "../support/harness/live.ts";
import { strayRows } from "../support/oracles/stray_rows.ts";

/** Milliseconds that the clock is late. */
const LATE_MS = 2_000;

/** Moves the clock in steps that are no absence, and lets the jobs work. */
async function advance(h: Harness, toMs: number): Promise<void> {
  while (h.nowMs < NOON + toMs) {
    h.nowMs = Math.min(h.nowMs + 59_000, NOON + toMs);
    await h.worker.idle();
    await h.work.idle();
    await h.worker.idle();
  }
}

/** Opens run `n` with a timeout, and lets the worker summarize it. */
async function open(h: Harness, n: number, fields: Record<string, unknown> = {}): Promise<void> {
  const { status } = await h.post("/v1/runs", aRun(n, { idle_timeout_seconds: 60, ...fields }));
  assertEquals(status, 202);
  await h.worker.idle();
}

async function send(h: Harness, n: number, event: number): Promise<void> {
  const body = { events: [anEvent(event)] };
  assertEquals((await h.post(`/v1/runs/${runId(n)}/events`, body)).status, 202);
  await h.worker.idle();
}

/** State of a run, as its record and the lists have it. */
async function stateOf(h: Harness, n: number): Promise<unknown[]> {
  const record = (await h.getFinal(`/v1/runs/${runId(n)}`)).json;
  const { runs } = (await h.get(`/v1/runs?status=${record.status}`)).json;
  const row = runs.find(({ id }: { id: string }) => id === record.id);
  const briefOf = ({ status, closed_by, finished_at, cost }: Answer["json"]) => [
    status,
    closed_by,
    finished_at === null ? null : Date.parse(finished_at) - NOON,
    cost.state,
    cost.revision,
  ];
  assertEquals(briefOf(row), briefOf(record));
  return briefOf(record);
}

async function assertIntact(h: Harness): Promise<void> {
  const { differences } = await verifyStore(h.store);
  assertEquals(differences, []);
}

Harness.test("idle: a run without a call for its timeout is closed, at the deadline", async (h) => {
  await open(h, 1);
  await advance(h, 60_000 + LATE_MS - 1);
  assertEquals(await stateOf(h, 1), ["running", null, null, "pending", 0]);
  await advance(h, 60_000 + LATE_MS);
  assertEquals(await stateOf(h, 1), ["timeout", "idle", 0, "final", 1]);
  const final = await h.get(`/v1/runs/${runId(1)}?wait=final`);
  assertEquals(final.json.updated_at, at(60_000));
  assertEquals(final.json.processing.map(({ state }: { state: string }) => state), [
    "done",
    "skipped",
    "done",
    "skipped",
  ]);
  // It counts no event, and a repeated opening changes nothing.
  assertEquals(await h.usage(), 1);
  const repeated = await h.post("/v1/runs", aRun(1, { idle_timeout_seconds: 60 }));
  assertEquals([repeated.status, repeated.json.status], [200, "timeout"]);
  assertEquals(await stateOf(h, 1), ["timeout", "idle", 0, "final", 1]);
  await assertIntact(h);
});

Harness.test("idle: events postpone the close, and reopen the run after it", async (h) => {
  await open(h, 1, { idle_timeout_status: "success" });
  await advance(h, 50_000);
  await send(h, 1, 7);
  await advance(h, 50_000 + 60_000 + LATE_MS);
  assertEquals(await stateOf(h, 1), ["success", "idle", 7, "final", 1]);
  await send(h, 1, 3);
  assertEquals(await stateOf(h, 1), ["running", null, null, "pending", 2]);
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).json.processing, []);
  await assertIntact(h);
  const reopenedMs = h.nowMs - NOON;
  await advance(h, reopenedMs + 60_000 + LATE_MS);
  // The latest `ts` counts, not the latest arrival.
  assertEquals(await stateOf(h, 1), ["success", "idle", 7, "final", 3]);
  await assertIntact(h);
});

Harness.test("idle: a finish and a heartbeat replace the close, and are stored", async (h) => {
  await open(h, 1);
  await open(h, 2);
  await advance(h, 60_000 + LATE_MS);
  const finished = await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ output: "late" }));
  assertEquals([finished.status, finished.json.status], [202, "success"]);
  const beat = await h.post(
    "/v1/heartbeats",
    aHeartbeat(2, { agent: "researcher", status: "fail" }),
  );
  assertEquals(beat.status, 202);
  assertEquals(await stateOf(h, 1), ["success", "finish", 5_000, "final", 2]);
  assertEquals((await stateOf(h, 2)).slice(0, 2), ["failed", "heartbeat"]);
  // Events after a finish reopen nothing.
  await send(h, 1, 1);
  assertEquals(await stateOf(h, 1), ["success", "finish", 5_000, "final", 3]);
  assertEquals(await h.usage(), 5);
  await assertIntact(h);
});

Harness.test("idle: only `POST /v1/runs` sets a timeout, and a close before it ends the wait", async (h) => {
  await h.post("/v1/heartbeats", aHeartbeat(1, { agent: "researcher", status: "start" }));
  await open(h, 2);
  await open(h, 3, { idle_timeout_seconds: undefined });
  await h.post(`/v1/runs/${runId(2)}/finish`, aFinish());
  await advance(h, 60_000 + LATE_MS);
  assertEquals((await stateOf(h, 1)).slice(0, 2), ["running", null]);
  assertEquals((await stateOf(h, 2)).slice(0, 2), ["success", "finish"]);
  assertEquals((await stateOf(h, 3)).slice(0, 2), ["running", null]);
  const due = await Array.fromAsync(
    h.store.reader.list({ prefix: keys.work() }),
    ({ key }) => keyParts.work(key).kind,
  );
  assertEquals(due.filter((kind) => kind === "idle"), []);
  // A later opening changes nothing (R34).
  const opened = await h.post("/v1/runs", aRun(1, { idle_timeout_seconds: 60 }));
  assertEquals(opened.status, 200);
  await advance(h, 60_000 + LATE_MS + 1_000);
  assertEquals((await stateOf(h, 1)).slice(0, 2), ["running", null]);
});

Harness.test("idle: a deadline while the service was down is judged later", async (h) => {
  await open(h, 1);
  await h.work.idle();
  await h.restart(() => {
    h.nowMs = NOON + 600_000;
    return Promise.resolve();
  });
  await h.work.idle();
  assertEquals(await stateOf(h, 1), ["running", null, null, "pending", 0]);
  await advance(h, 1_200_000 + LATE_MS);
  assertEquals(await stateOf(h, 1), ["timeout", "idle", 0, "final", 1]);
  // The time after the absence, and as long as the absence took.
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).json.updated_at, at(1_200_000));
});

Harness.test("idle: events after an absence set a deadline before the postponed one", async (h) => {
  await open(h, 1);
  await h.work.idle();
  await h.restart(() => {
    h.nowMs = NOON + 600_000;
    return Promise.resolve();
  });
  await h.work.idle();
  await send(h, 1, 7);
  await advance(h, 660_000 + LATE_MS);
  assertEquals(await stateOf(h, 1), ["timeout", "idle", 7, "final", 1]);
});

Harness.test("idle: each close and each reopening is a change of the feed and of live streams", async (h) => {
  await using listener = await follow(h);
  await open(h, 1);
  const events = await listener.events(1);
  await advance(h, 60_000 + LATE_MS);
  events.push(...await listener.events(2));
  await send(h, 1, 1);
  events.push(...await listener.events(1));
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish());
  events.push(...await listener.events(2));
  assertEquals(
    events.map((event) => `${briefly(event)} ${event.data.status} ${event.data.closed_by}`),
    [
      "run.opened 1 running null",
      "run.finished 1 timeout idle",
      "run.cost_final 1 timeout idle",
      "run.opened 1 running null",
      "run.finished 1 success finish",
      "run.cost_final 1 success finish",
    ],
  );
});

Harness.test("idle: a monitor counts the last end of a run, also if its reopening is not seen", async (h) => {
  await open(h, 1);
  const path = "/v1/agents/researcher/monitor";
  const body = { schedule: { every_seconds: 3_600 } };
  assertEquals((await h.request("PUT", path, { body })).status, 202);
  await advance(h, 60_000 + LATE_MS);
  const lastArrival = async () => Date.parse((await h.get(path)).json.last_arrival_at) - NOON;
  assertEquals(await lastArrival(), 60_000);
  await h.worker.stop();
  await h.post(`/v1/runs/${runId(1)}/events`, { events: [anEvent(1)] });
  await h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ status: "failed" }));
  await h.restart();
  await h.worker.idle();
  assertEquals(await lastArrival(), h.nowMs - NOON);
});

Harness.test("idle: a deletion removes the close, and the due row of an open run", async (h) => {
  await open(h, 1, { customer_id: "acme" });
  await advance(h, 60_000 + LATE_MS);
  await open(h, 2, { customer_id: "acme" });
  assertEquals((await stateOf(h, 1)).slice(0, 2), ["timeout", "idle"]);
  await h.request("DELETE", "/v1/customers/acme");
  await advance(h, 200_000);
  for (const n of [1, 2]) assertEquals((await h.get(`/v1/runs/${runId(n)}`)).status, 404);
  assertEquals(await strayRows(h.store), []);
  const rows = await Array.fromAsync(h.store.reader.list({ prefix: [] }), ({ key }) => key);
  assert(!rows.some((key) => key[2] === "idle" || key[3] === "idle"), Deno.inspect(rows));
  await assertIntact(h);
});
