/** Identical and competing concurrent requests, over the complete stack. */
import { assert, assertEquals } from "@std/assert";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  at,
  eventId,
  events,
  runId,
} from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";

/** Sends requests concurrently. */
async function atOnce(times: number, send: (n: number) => Promise<Answer>): Promise<Answer[]> {
  return await Promise.all(Array.from({ length: times }, (_, n) => send(n)));
}

/** Counts each status, as `202x1 200x49`. */
function countStatuses(answers: readonly Answer[]): string {
  const counts = new Map<number, number>();
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => b - a).map(([status, n]) => `${status}x${n}`).join(" ");
}

/** Asserts that one is stored and all others are replays of it. */
function assertOneStored(answers: readonly Answer[]): void {
  assertEquals(countStatuses(answers), `202x1 200x${answers.length - 1}`);
  assertEquals(new Set(answers.map(({ text }) => text)).size, 1);
  for (const { status, headers } of answers) {
    assertEquals(headers.get("Idempotent-Replayed"), status === 200 ? "true" : null);
  }
}

/** Calls of run `n`; an agent that is known takes another code path than a new one. */
const CALLS: Readonly<Record<string, (h: Harness, n: number) => Promise<Answer>>> = {
  opens: (h, n) => h.post("/v1/runs", aRun(n)),
  finishes: (h, n) => h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ scores: { good: true } })),
  heartbeats: (h, n) => h.post("/v1/heartbeats", aHeartbeat(n, { cost_usd: 0.25 })),
};

for (const [name, send] of Object.entries(CALLS)) {
  Harness.test(`50 identical concurrent ${name}: one 202, 49 replays, counted once`, async (h) => {
    for (const n of [1, 2]) {
      assertOneStored(await atOnce(50, () => send(h, n)));
      assertEquals(await h.usage(), n);
    }
  });
}

Harness.test("contract 6: opens of two agents on one id: one 202, the loser's are 409", async (h) => {
  for (const n of [1, 2, 3]) {
    const answers = await atOnce(40, (i) => h.post("/v1/runs", aRun(n, { agent: `a${i % 2}` })));
    assertEquals(countStatuses(answers), "409x20 202x1 200x19");
    const stored = (await h.get(`/v1/runs/${runId(n)}`)).json.agent;
    answers.forEach(({ status, json }, i) => {
      assertEquals(status === 409, stored !== `a${i % 2}`);
      if (status === 409) assertEquals([json.error, json.field], ["id_conflict", "agent"]);
    });
    assertEquals(await h.usage(), n);
  }
});

Harness.test("decision 22: different finishes: the first wins and every response returns it", async (h) => {
  const answers = await atOnce(
    30,
    (i) => h.post(`/v1/runs/${runId(1)}/finish`, aFinish({ finished_at: at(i), output: { i } })),
  );
  assertOneStored(answers);
  const run = (await h.get(`/v1/runs/${runId(1)}`)).json;
  assertEquals([run.output, await h.usage()], [answers[0]?.json.output, 1]);
});

Harness.test("decision 33: 50 concurrent heartbeats without an id are 50 runs", async (h) => {
  const answers = await atOnce(50, () => h.post("/v1/heartbeats", { agent: "nightly" }));
  assertEquals(countStatuses(answers), "202x50");
  assertEquals(new Set(answers.map(({ json }) => json.id)).size, 50);
  assertEquals(await h.usage(), 50);
});

Harness.test("50 overlapping concurrent batches on one run: every event is stored exactly once", async (h) => {
  // Batch n has events 5n to 5n+24: neighbors overlap, and one is repeated inside the batch.
  const input = (n: number) => [...events(5 * n, 5 * n + 24), anEvent(5 * n)];
  const answers = await atOnce(
    50,
    (n) => h.post(`/v1/runs/${runId(1)}/events`, { events: input(n) }),
  );
  const sums = answers.map(({ json }) => [json.accepted, json.accepted + json.duplicates]);
  assertEquals(countStatuses(answers), "202x50");
  assert(sums.every(([, items]) => items === 26));
  const distinct = 49 * 5 + 25;
  assertEquals(sums.reduce((total, [accepted]) => total + accepted, 0), distinct);
  const run = (await h.get(`/v1/runs/${runId(1)}?events_limit=1000`)).json;
  const stored = run.events.map((event: { id: string }) => event.id);
  assertEquals(stored, Array.from({ length: distinct }, (_, n) => eventId(n)));
  assertEquals([run.usage.events, await h.usage()], [distinct, distinct]);
});

Harness.test("decision 26: different concurrent ends: the first wins permanently", async (h) => {
  const words = ["ok", "fail", "timeout"] as const;
  const answers = await atOnce(
    30,
    (i) => h.post("/v1/heartbeats", aHeartbeat(1, { status: words[i % 3] })),
  );
  assertOneStored(answers);
  const word = answers[0]?.json.status;
  const status = { ok: "success", fail: "failed", timeout: "timeout" }[word as "ok"];
  assertEquals((await h.get(`/v1/runs/${runId(1)}`)).json.status, status);
  assertEquals(await h.usage(), 1);
});

/** Calls that may all use one id (decision 27). */
const CROSS: readonly ((h: Harness, n: number) => Promise<Answer>)[] = [
  (h, n) => h.post("/v1/runs", aRun(n, { agent: "x" })),
  (h, n) => h.post("/v1/heartbeats", aHeartbeat(n, { agent: "x", status: "fail" })),
  (h, n) => h.post(`/v1/runs/${runId(n)}/finish`, aFinish({ status: "cancelled" })),
  (h, n) => h.post("/v1/heartbeats", aHeartbeat(n, { agent: "x", status: "start" })),
];

Harness.test("decision 27: concurrent open, heartbeat, finish and start: one opening, one close", async (h) => {
  let counted = 0;
  for (let n = 1; n <= 12; n++) {
    const shift = n % CROSS.length;
    const order = [...CROSS.slice(shift), ...CROSS.slice(0, shift)];
    const answers = await atOnce(16, (i) => {
      const send = order[i % order.length];
      assert(send !== undefined);
      return send(h, n);
    });
    // All claim the same start, so that nothing conflicts.
    assert(answers.every(({ status }) => status === 202 || status === 200), countStatuses(answers));
    counted += answers.filter(({ status }) => status === 202).length;
    const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
    assert(["failed", "cancelled"].includes(run.status), run.status);
    assertEquals([run.agent, run.flags], ["x", []]);
    assertEquals(await h.usage(), counted);
  }
});
