/** Batches of events: counted once, all or nothing, in any order, kept as sent, read in pages. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
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

interface Sent {
  readonly id: string;
  readonly ts: string;
}

interface Page {
  readonly ids: string[];
  readonly cursor: string | null;
}

async function page(h: Harness, limit: number | null, cursor: string | null): Promise<Page> {
  const query = new URLSearchParams();
  if (limit !== null) query.set("events_limit", String(limit));
  if (cursor !== null) query.set("events_cursor", cursor);
  const { status, json } = await h.get(`${PATH}?${query}`);
  assertEquals(status, 200);
  return { ids: json.events.map(({ id }: Sent) => id), cursor: json.events_cursor };
}

/** Reads pages from a cursor to the end; each but the last must be full. */
async function pages(h: Harness, limit: number, from: string | null = null): Promise<string[][]> {
  const read: string[][] = [];
  let cursor = from;
  do {
    const next = await page(h, limit, cursor);
    assert(next.ids.length === limit || next.cursor === null, "a page in the middle is short");
    read.push(next.ids);
    cursor = next.cursor;
  } while (cursor !== null);
  return read;
}

/** Numbers from 0 to `count` in a deterministic pseudorandom order. */
function shuffled(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
    .map((n) => [Math.imul(n + 1, 0x9e3779b1) >>> 0, n] as const)
    .sort(([a], [b]) => a - b)
    .map(([, n]) => n);
}

/** Sends events in this order, in batches of varying size. */
async function sendInBatches(h: Harness, all: readonly Sent[]): Promise<number> {
  let batches = 0;
  for (let from = 0; from < all.length; batches++) {
    const size = 1 + (batches * 17) % 50;
    const answer = await h.post(`${PATH}/events`, { events: all.slice(from, from + size) });
    assertEquals(answer.status, 202);
    from += size;
    h.nowMs += 1;
  }
  return batches;
}

/** The expected order: by instant, and within one instant by arrival. */
function inOrder(sent: readonly Sent[]): string[] {
  return sent.map(({ id, ts }, i) => ({ id, ts, i }))
    .sort((a, b) => Date.parse(a.ts) - Date.parse(b.ts) || a.i - b.i)
    .map(({ id }) => id);
}

Harness.test("section 6: 1,203 events sent out of order are read in order, whatever the page size", async (h) => {
  await h.post("/v1/runs", aRun(1));
  // Seven events share each instant, and batches overlap in time.
  const sentEvents = shuffled(1_203).map((n) => anEvent(n, { ts: at(Math.floor(n / 7) * 10) }));
  const batches = await sendInBatches(h, sentEvents);
  assert(batches > 40, "many batches, so that pages cut through them");
  const expected = inOrder(sentEvents);
  for (const restarted of [false, true]) {
    if (restarted) await h.restart();
    for (const limit of [1_000, 401, 97]) {
      const read = await pages(h, limit);
      assertEquals(read.flat(), expected, `${limit} a page`);
      assertEquals(read.length, Math.ceil(1_203 / limit));
    }
  }
  assertEquals((await h.get(PATH)).json.usage.events, 1_203);
});

Harness.test("section 6: a cursor keeps its position while events arrive before and after it", async (h) => {
  const original = shuffled(300).map((n) => anEvent(n, { ts: at(1_000 + n * 10) }));
  await sendInBatches(h, original);
  const expected = inOrder(original);
  const first = await page(h, 120, null);
  assertEquals(first.ids, expected.slice(0, 120));

  const before = [anEvent(900, { ts: at(0) }), anEvent(901, { ts: at(1_005) })];
  // The cursor's own instant, but a later arrival, so it follows the cursor.
  const same = anEvent(902, { ts: at(1_000 + 119 * 10) });
  const behind = [anEvent(903, { ts: at(3_333) }), anEvent(904, { ts: at(90_000) })];
  await h.post(`${PATH}/events`, { events: [...behind, same, ...before] });

  const remainder = (await pages(h, 50, first.cursor)).flat();
  assertEquals(remainder, inOrder([...original, ...behind, same, ...before]).slice(122));
  assertEquals(remainder[0], same.id);
  const again = (await pages(h, 50, first.cursor)).flat();
  assertEquals(again, remainder, "a cursor can be used again");
  const complete = (await pages(h, 1_000)).flat();
  assertEquals(complete, inOrder([...original, ...behind, same, ...before]));
});

Harness.test("section 6: events across the range of instants keep their order", async (h) => {
  const instants = [
    "9999-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00Z",
    at(),
    "1970-01-01T00:00:00.001Z",
  ];
  const sentEvents = instants.map((ts, n) => anEvent(n, { ts }));
  for (const event of sentEvents) await h.post(`${PATH}/events`, { events: [event] });
  assertEquals((await pages(h, 1)).flat(), inOrder(sentEvents));
});

Harness.test("section 6: a text that is not a cursor is refused, and a cursor reveals no other run", async (h) => {
  await h.post(`${PATH}/events`, { events: events(1, 3) });
  const { cursor } = await page(h, 2, null);
  assert(cursor !== null);
  for (const text of ["x", "!!!", "%00", "bm8", `${cursor}A`, `A${cursor}`, "LTEuMC4w"]) {
    const { status, json } = await h.get(`${PATH}?events_cursor=${text}`);
    const expected = [400, "invalid_field", "events_cursor"];
    assertEquals([status, json.error, json.field], expected, text);
  }
  const other = await h.addTeam("team");
  const foreign = await h.get(`${PATH}?events_cursor=${cursor}`, { key: other.key });
  assertEquals(foreign.status, 404);
});

/** Objects that parsing and rewriting would change. */
const PAYLOADS: Readonly<Record<string, string>> = {
  "big integers": '{"n":12345678901234567890,"m":-9007199254740993}',
  "trailing zeros and exponents": '{"a":1.0,"b":1e2,"c":1E+2,"d":-0,"e":0.10}',
  "numbers no double holds": '{"a":1e999,"b":0.1234567890123456789}',
  "repeated keys": '{"a":1,"a":2,"b":{"c":1,"c":2}}',
  "unicode escapes": '{"\\u0061":"\\u00e9\\ud83d\\ude00","slash":"\\/"}',
  "lone surrogates": '{"a":"\\ud800","b":"\\udfff\\ud800"}',
  "integer keys in their order": '{"10":1,"9":2,"b":3,"1":4,"a":5}',
  "special keys": '{"__proto__":{"x":1},"constructor":null,"":0}',
  "white space": '{ "a" :\t[ 1 ,2 ] , "b": { } }',
  "control escapes": '{"a":"\\u0000\\b\\f\\n\\r\\t\\u001f\\u2028"}',
  "characters of every width": '{"ü":"€ 😀 日本 \u2028 \u007f"}',
  "brackets and quotes in texts": '{"a":"}]{[\\"\\\\","b":"\\\\\\\\"}',
  "an empty object": "{}",
};

function eventWith(n: number, type: string, data: string): string {
  const event = JSON.stringify(anEvent(n, { type, data: "DATA" }));
  return event.replace('"DATA"', () => data);
}

function withOutput(body: unknown, output: string): string {
  return `${JSON.stringify(body).slice(0, -1)},"output":${output}}`;
}

Harness.test("payloads of every event type are kept as the exact text sent", async (h) => {
  const sentEvents = Object.values(PAYLOADS).flatMap((data) =>
    ["log", "tool_call", "llm_call", "custom"].map((type) => ({ type, data }))
  );
  for (const [n, { type, data }] of sentEvents.entries()) {
    const body = `{"events":[${eventWith(n, type, data)}]}`;
    assertEquals((await h.post(`${PATH}/events`, body)).status, 202, data);
  }
  await h.restart();
  const { text } = await h.get(`${PATH}?events_limit=1000`);
  for (const [n, { data }] of sentEvents.entries()) {
    const start = text.indexOf(`"id":"${eventId(n)}"`);
    const from = text.indexOf('"data":', start) + '"data":'.length;
    assertEquals(text.slice(from, from + data.length), data);
    assert(/^(}|,"cost_usd"|,"priced_by")/.test(text.slice(from + data.length)), "nothing added");
  }
});

Harness.test("output is kept as the exact text sent, in the response and in reads", async (h) => {
  for (const [n, output] of Object.values(PAYLOADS).entries()) {
    const path = `/v1/runs/${runId(n)}`;
    const body = withOutput(aFinish(), output);
    const first = await h.post(`${path}/finish`, body);
    assertEquals(first.status, 202);
    assertStringIncludes(first.text, `"output":${output},`);
    assertStringIncludes((await h.get(path)).text, `"output":${output},`);
    const again = await h.post(`${path}/finish`, body);
    assertEquals([again.status, again.text], [200, first.text]);

    assertEquals(
      (await h.post("/v1/heartbeats", withOutput(aHeartbeat(100 + n), output))).status,
      202,
    );
    const beat = await h.get(`/v1/runs/${runId(100 + n)}`);
    assertStringIncludes(beat.text, `"output":${output},`);
  }
});

Harness.test("of a repeated member around a payload the last one counts", async (h) => {
  const event = eventWith(1, "log", '{"first":1.0}').slice(0, -1);
  const twice = `${event},"data":{"last":2.0},"\\u0074ype":"custom"}`;
  const body = `{"events":[${eventWith(9, "log", "{}")}],"\\u0065vents":[${twice}]}`;
  assertEquals((await h.post(`${PATH}/events`, body)).json, { accepted: 1, duplicates: 0 });
  const { text, json } = await h.get(PATH);
  assertEquals([json.events.length, json.events[0].type], [1, "custom"]);
  assertStringIncludes(text, '"data":{"last":2.0}');
});

Harness.test("section 6: usage adds up the llm_calls and counts failures", async (h) => {
  const call = (n: number, data: Record<string, unknown>) => anEvent(n, { type: "llm_call", data });
  const batch = [
    call(1, { model: "m", input_tokens: 100, output_tokens: 10, cached_input_tokens: 40 }),
    call(2, { model: "m", input_tokens: 7, latency_ms: 12 }),
    call(3, { model: "m", status: "error", error: "overloaded" }),
    anEvent(4, { type: "tool_call", data: { error: { code: 1 }, input_tokens: 1_000 } }),
    anEvent(5, { type: "error", data: {} }),
    anEvent(6, { data: { message: "fine", error: null } }),
    anEvent(7, { type: "tool_call", data: { error: "", status: "ok" } }),
  ];
  assertEquals((await h.post(`${PATH}/events`, { events: batch })).status, 202);
  await h.post(`${PATH}/events`, { events: batch });
  assertEquals((await h.get(PATH)).json.usage, {
    events: 7,
    llm_calls: 3,
    tool_calls: 2,
    logs: 1,
    errors: 3,
    input_tokens: 107,
    output_tokens: 10,
    cached_input_tokens: 40,
  });
});
