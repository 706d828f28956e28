/** Definition of one event, and the month it counts in (contract 13, decision 35). */
import { assertEquals } from "@std/assert";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  at,
  events,
  runId,
} from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

interface Row {
  readonly call: string;
  readonly counts: number;
  readonly status: number;
  readonly send: (h: Harness) => Promise<Answer>;
}

const PATH = `/v1/runs/${runId(1)}`;

/** Run in sequence on one service: each row states what it adds to the month. */
const ROWS: readonly Row[] = [
  { call: "open", counts: 1, status: 202, send: (h) => h.post("/v1/runs", aRun(1)) },
  { call: "the open again", counts: 0, status: 200, send: (h) => h.post("/v1/runs", aRun(1)) },
  {
    call: "a conflicting open",
    counts: 0,
    status: 409,
    send: (h) => h.post("/v1/runs", aRun(1, { agent: "x" })),
  },
  { call: "a bad open", counts: 0, status: 400, send: (h) => h.post("/v1/runs", {}) },
  {
    call: "three events",
    counts: 3,
    status: 202,
    send: (h) => h.post(`${PATH}/events`, { events: events(1, 3) }),
  },
  {
    call: "two of them again and one more",
    counts: 1,
    status: 202,
    send: (h) => h.post(`${PATH}/events`, { events: events(2, 4) }),
  },
  {
    call: "one event twice in a batch",
    counts: 1,
    status: 202,
    send: (h) => h.post(`${PATH}/events`, { events: [anEvent(5), anEvent(5)] }),
  },
  {
    call: "an empty batch",
    counts: 0,
    status: 202,
    send: (h) => h.post(`${PATH}/events`, { events: [] }),
  },
  {
    call: "a batch with one bad event",
    counts: 0,
    status: 400,
    send: (h) => h.post(`${PATH}/events`, { events: [anEvent(6), {}] }),
  },
  {
    call: "51 events",
    counts: 0,
    status: 400,
    send: (h) => h.post(`${PATH}/events`, { events: events(100, 150) }),
  },
  {
    call: "50 events",
    counts: 50,
    status: 202,
    send: (h) => h.post(`${PATH}/events`, { events: events(100, 149) }),
  },
  {
    call: "finish with scores",
    counts: 1,
    status: 202,
    send: (h) => h.post(`${PATH}/finish`, aFinish({ scores: { a: 1, b: true, c: 0.5 } })),
  },
  {
    call: "another finish",
    counts: 0,
    status: 200,
    send: (h) => h.post(`${PATH}/finish`, aFinish({ status: "failed" })),
  },
  {
    call: "heartbeat",
    counts: 1,
    status: 202,
    send: (h) => h.post("/v1/heartbeats", aHeartbeat(2)),
  },
  {
    call: "the heartbeat again",
    counts: 0,
    status: 200,
    send: (h) => h.post("/v1/heartbeats", aHeartbeat(2)),
  },
  {
    call: "a start",
    counts: 1,
    status: 202,
    send: (h) => h.post("/v1/heartbeats", aHeartbeat(3, { status: "start" })),
  },
  {
    call: "the start again",
    counts: 0,
    status: 200,
    send: (h) => h.post("/v1/heartbeats", aHeartbeat(3, { status: "start" })),
  },
  {
    call: "closing the start",
    counts: 1,
    status: 202,
    send: (h) => h.post("/v1/heartbeats", aHeartbeat(3)),
  },
  { call: "GET ping", counts: 1, status: 200, send: (h) => h.get("/v1/ping?agent=cron") },
  {
    call: "HEAD ping",
    counts: 1,
    status: 200,
    send: (h) => h.request("HEAD", "/v1/ping?agent=cron"),
  },
  {
    call: "a ping with an id",
    counts: 1,
    status: 200,
    send: (h) => h.get(`/v1/ping?agent=cron&id=${runId(4)}`),
  },
  {
    call: "that ping again",
    counts: 0,
    status: 200,
    send: (h) => h.get(`/v1/ping?agent=cron&id=${runId(4)}`),
  },
  { call: "a bad ping", counts: 0, status: 400, send: (h) => h.get("/v1/ping") },
  { call: "reading", counts: 0, status: 200, send: (h) => h.get(PATH) },
  {
    call: "no key",
    counts: 0,
    status: 401,
    send: (h) => h.post("/v1/runs", aRun(9), { key: null }),
  },
  { call: "no such path", counts: 0, status: 404, send: (h) => h.post("/v1/run", aRun(9)) },
  { call: "wrong method", counts: 0, status: 405, send: (h) => h.request("PUT", "/v1/runs") },
  { call: "OPTIONS", counts: 0, status: 204, send: (h) => h.request("OPTIONS", "/v1/ping") },
  {
    call: "finish of a run that is not open",
    counts: 1,
    status: 202,
    send: (h) => h.post(`/v1/runs/${runId(5)}/finish`, aFinish()),
  },
  {
    call: "event of a run that is not open",
    counts: 1,
    status: 202,
    send: (h) => h.post(`/v1/runs/${runId(6)}/events`, { events: events(1, 1) }),
  },
];

Harness.test("decision 35: every stored item counts once, a refusal and a replay never", async (h) => {
  for (const { call, counts, status, send } of ROWS) {
    const before = await h.usage();
    assertEquals((await send(h)).status, status, call);
    assertEquals(await h.usage() - before, counts, call);
  }
});

const MONTH_ENDS = Date.UTC(2026, 11, 1);

/** Counts of the months before and after the boundary. */
async function months(h: Harness): Promise<number[]> {
  const counted: number[] = [];
  for (const ms of [MONTH_ENDS - 1, MONTH_ENDS]) {
    h.nowMs = ms;
    counted.push(await h.usage());
  }
  return counted;
}

Harness.test("decision 35: the last millisecond of a month in UTC counts in it, the next does not", async (h) => {
  h.nowMs = MONTH_ENDS - 1;
  await h.post("/v1/runs", aRun(1));
  await h.post("/v1/heartbeats", aHeartbeat(2, { status: "start" }));
  assertEquals(await months(h), [2, 0]);
  h.nowMs = MONTH_ENDS;
  await h.post(`${PATH}/events`, { events: events(1, 3) });
  await h.post(`${PATH}/finish`, aFinish());
  await h.post("/v1/heartbeats", aHeartbeat(2));
  assertEquals(await months(h), [2, 5]);
});

Harness.test("decision 35: the month follows the arrival, whatever the client's clock", async (h) => {
  h.nowMs = MONTH_ENDS;
  const longAgo = "2020-02-29T00:00:00Z";
  await h.post("/v1/runs", aRun(1, { started_at: longAgo }));
  await h.post(`${PATH}/events`, { events: [anEvent(1, { ts: longAgo })] });
  await h.post(`${PATH}/finish`, aFinish({ finished_at: at() }));
  assertEquals(await months(h), [0, 3]);
});

Harness.test("decision 35: a replay in the next month counts in neither", async (h) => {
  h.nowMs = MONTH_ENDS - 1;
  await h.post("/v1/heartbeats", aHeartbeat(1));
  h.nowMs = MONTH_ENDS;
  assertEquals((await h.post("/v1/heartbeats", aHeartbeat(1))).status, 200);
  assertEquals(await months(h), [1, 0]);
});

Harness.test("decision 35: each team has its own count", async (h) => {
  const other = await h.addTeam("free");
  await h.post("/v1/runs", aRun(1));
  await h.post("/v1/runs", aRun(1), { key: other.key });
  await h.post("/v1/heartbeats", { agent: "a" }, { key: other.key });
  assertEquals([await h.usage(), await h.usage(other.team)], [1, 2]);
});
