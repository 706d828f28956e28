/** Batches of events: counted once, all or nothing, in any order (decisions 17 and 19 to 21). */
import { assertEquals } from "@std/assert";
import {
  aFinish,
  anEvent,
  aRun,
  at,
  eventId,
  events,
  runId,
} from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;

function send(h: Harness, batch: unknown, n = 1, key = h.key) {
  return h.post(`/v1/runs/${runId(n)}/events`, { events: batch }, { key });
}

/** Ids of a run's events, in reading order. */
async function idsOf(h: Harness, n = 1): Promise<string[]> {
  const run = (await h.get(`/v1/runs/${runId(n)}?events_limit=1000`)).json;
  return run.events.map(({ id }: { id: string }) => id);
}

Harness.test("contract 3: a batch is 202 with its counts and is read back completely", async (h) => {
  await h.post("/v1/runs", aRun(1));
  h.nowMs += 400;
  const input = [
    anEvent(1),
    anEvent(2, { type: "tool_call", data: { tool: "search", args: [1, null] } }),
    anEvent(3, { type: "my.own-Type/1", data: {} }),
    anEvent(4, { type: "llm_call", turn: 3, data: { model: "m", input_tokens: 5 } }),
  ];
  const answer = await send(h, input);
  assertEquals([answer.status, answer.json], [202, { accepted: 4, duplicates: 0 }]);
  const run = (await h.get(PATH)).json;
  const [log, tool, own, call] = run.events;
  const received_at = at(400);
  assertEquals([log, tool, own], input.slice(0, 3).map((event) => ({ ...event, received_at })));
  const { cost_usd, priced_by, ...asSent } = call;
  assertEquals([cost_usd, priced_by, asSent], [0, null, { ...input[3], received_at }]);
  const { usage } = run;
  assertEquals([usage.events, usage.logs, usage.tool_calls, usage.llm_calls], [4, 1, 1, 1]);
  assertEquals([run.status, run.updated_at], ["running", received_at]);
  assertEquals(await h.usage(), 5);
});

Harness.test("decision 20: an empty batch is 202 with zeros and stores nothing", async (h) => {
  const before = await h.dump();
  const answer = await send(h, []);
  assertEquals([answer.status, answer.json], [202, { accepted: 0, duplicates: 0 }]);
  assertEquals(await h.dump(), before);
  assertEquals((await h.get(PATH)).status, 404);
});

Harness.test("decision 20: repeats inside a batch count as duplicates, the first is stored", async (h) => {
  const batch = [anEvent(1), anEvent(2), anEvent(1, { data: { message: "second" } }), anEvent(1)];
  assertEquals((await send(h, batch)).json, { accepted: 2, duplicates: 2 });
  const run = (await h.get(PATH)).json;
  assertEquals(run.events.map(({ data }: { data: unknown }) => data), [
    { message: "line 1" },
    { message: "line 2" },
  ]);
  assertEquals([run.usage.events, await h.usage()], [2, 2]);
});

Harness.test("decision 21: repeats in later batches are dropped and counted, whatever their content", async (h) => {
  await send(h, events(1, 3));
  const before = await h.dump();
  const changed = [anEvent(2, { ts: at(99), type: "error", data: { changed: true } })];
  for (const batch of [events(1, 3), changed]) {
    const again = await send(h, batch);
    assertEquals([again.status, again.json], [202, { accepted: 0, duplicates: batch.length }]);
  }
  await h.restart();
  assertEquals((await send(h, events(1, 3))).json, { accepted: 0, duplicates: 3 });
  assertEquals(await h.dump(), before);
  assertEquals((await send(h, events(2, 5))).json, { accepted: 2, duplicates: 2 });
  assertEquals(await idsOf(h), [1, 2, 3, 4, 5].map((n) => eventId(n)));
  assertEquals(await h.usage(), 5);
});

Harness.test("decision 21: repeats are detected among a thousand ids, also after a restart", async (h) => {
  for (let from = 0; from < 1_000; from += 50) await send(h, events(from, from + 49));
  await h.restart();
  const every40th = Array.from({ length: 25 }, (_, i) => anEvent(i * 40));
  const answer = await send(h, [...every40th, ...events(1_000, 1_004)]);
  assertEquals(answer.json, { accepted: 5, duplicates: 25 });
  assertEquals([(await h.get(PATH)).json.usage.events, await h.usage()], [1_005, 1_005]);
});

Harness.test("decision 19: an event id is unique only within its run", async (h) => {
  const other = await h.addTeam("team");
  for (const [n, key] of [[1, h.key], [2, h.key], [1, other.key]] as const) {
    assertEquals((await send(h, events(1, 2), n, key)).json, { accepted: 2, duplicates: 0 });
  }
  // The same digits under another region are another id.
  const us = anEvent(1, { id: eventId(1, "us") });
  assertEquals((await send(h, [us])).json, { accepted: 1, duplicates: 0 });
  assertEquals((await send(h, [us, anEvent(1)])).json, { accepted: 0, duplicates: 2 });
  assertEquals([await h.usage(), await h.usage(other.team)], [5, 2]);
});

Harness.test("decision 19: external_id replaces an absent id, and id wins", async (h) => {
  const batch = [
    anEvent(1, { id: undefined, external_id: eventId(1) }),
    anEvent(2, { id: null, external_id: eventId(2) }),
    anEvent(3, { external_id: "not even an id" }),
  ];
  assertEquals((await send(h, batch)).json, { accepted: 3, duplicates: 0 });
  assertEquals(await idsOf(h), [1, 2, 3].map((n) => eventId(n)));
  assertEquals((await send(h, events(1, 3))).json, { accepted: 0, duplicates: 3 });
  const bad = await send(h, [anEvent(4, { id: undefined, external_id: "x" })]);
  assertEquals([bad.status, bad.json.error, bad.json.field], [400, "invalid_id", "id"]);
});

Harness.test("decision 17: events after the finish are stored, each batch a revision of the cost", async (h) => {
  await h.post("/v1/runs", aRun(1));
  await send(h, events(1, 2));
  h.nowMs += 1_000;
  await h.post(`${PATH}/finish`, aFinish());
  const revision = async () => (await h.getFinal(PATH)).json.cost.revision;
  assertEquals(await revision(), 1);
  for (const n of [3, 4]) {
    h.nowMs += 1_000;
    const late = await send(h, [anEvent(n)]);
    assertEquals([late.status, late.json], [202, { accepted: 1, duplicates: 0 }]);
    assertEquals(await revision(), n - 1);
  }
  h.nowMs += 1_000;
  assertEquals((await send(h, events(1, 4))).json, { accepted: 0, duplicates: 4 });
  const run = (await h.getFinal(PATH)).json;
  assertEquals([run.cost.revision, run.cost.state, run.status], [3, "final", "success"]);
  assertEquals([run.usage.events, run.finished_at, run.updated_at], [4, at(5_000), at(3_000)]);
});
