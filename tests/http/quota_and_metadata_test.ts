/** Definition of one event, and the month it counts in (contract 13, decision 35). */
import { assert, assertEquals } from "@std/assert";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  at,
  events,
  runId,
} from "../support/builders/requests.ts";
import { CARD, PRICE } from "../support/builders/rate_cards.ts";
import { type Answer, freeTeam, Harness } from "../support/harness/harness.ts";
import type { Tier } from "../../domain/teams/plans.ts";

const PATH = `/v1/runs/${runId(1)}`;

type Send = (h: Harness) => Promise<Answer>;

const open = (n: number, fields = {}): Send => (h) => h.post("/v1/runs", aRun(n, fields));
const batch = (events: unknown[], path = PATH): Send => (h) => h.post(`${path}/events`, { events });
const close = (fields = {}, path = PATH): Send => (h) => h.post(`${path}/finish`, aFinish(fields));
const beat = (n: number, fields = {}): Send => (h) =>
  h.post("/v1/heartbeats", aHeartbeat(n, fields));
const ping = (query = "", method = "GET"): Send => (h) => h.request(method, `/v1/ping${query}`);

/** Run in sequence on one service: each row states what it adds to the month. */
const ROWS: readonly (readonly [call: string, counts: number, status: number, send: Send])[] = [
  ["open", 1, 202, open(1)],
  ["the open again", 0, 200, open(1)],
  ["a conflicting open", 0, 409, open(1, { agent: "x" })],
  ["a bad open", 0, 400, (h) => h.post("/v1/runs", {})],
  ["three events", 3, 202, batch(events(1, 3))],
  ["two of them again and one more", 1, 202, batch(events(2, 4))],
  ["one event twice in a batch", 1, 202, batch([anEvent(5), anEvent(5)])],
  ["an empty batch", 0, 202, batch([])],
  ["a batch with one bad event", 0, 400, batch([anEvent(6), {}])],
  ["51 events", 0, 400, batch(events(100, 150))],
  ["50 events", 50, 202, batch(events(100, 149))],
  ["finish with scores", 1, 202, close({ scores: { a: 1, b: true, c: 0.5 } })],
  ["another finish", 0, 200, close({ status: "failed" })],
  ["heartbeat", 1, 202, beat(2)],
  ["the heartbeat again", 0, 200, beat(2)],
  ["a start", 1, 202, beat(3, { status: "start" })],
  ["the start again", 0, 200, beat(3, { status: "start" })],
  ["closing the start", 1, 202, beat(3)],
  ["GET ping", 1, 200, ping("?agent=cron")],
  ["HEAD ping", 1, 200, ping("?agent=cron", "HEAD")],
  ["a ping with an id", 1, 200, ping(`?agent=cron&id=${runId(4)}`)],
  ["that ping again", 0, 200, ping(`?agent=cron&id=${runId(4)}`)],
  ["a bad ping", 0, 400, ping()],
  ["reading", 0, 200, (h) => h.get(PATH)],
  ["no key", 0, 401, (h) => h.post("/v1/runs", aRun(9), { key: null })],
  ["no such path", 0, 404, (h) => h.post("/v1/run", aRun(9))],
  ["wrong method", 0, 405, (h) => h.request("PUT", "/v1/runs")],
  ["OPTIONS", 0, 204, (h) => h.request("OPTIONS", "/v1/ping")],
  ["a key", 0, 201, (h) => h.post("/v1/keys", { kind: "api_key", name: "k" })],
  ["a price", 0, 202, (h) => h.request("PUT", CARD, { body: PRICE })],
  ["repricing", 0, 202, (h) => h.post(`${CARD}/reprice`, { model: PRICE.model })],
  ["finish of a run that is not open", 1, 202, close({}, `/v1/runs/${runId(5)}`)],
  ["event of a run that is not open", 1, 202, batch(events(1, 1), `/v1/runs/${runId(6)}`)],
];

Harness.test("decision 35: every stored item counts once, a refusal and a replay never", async (h) => {
  for (const [call, counts, status, send] of ROWS) {
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

const KEPT: Record<Tier, number> = { free: 0, starter: 0, team: 3, business: 10, enterprise: 15 };

/** Stored labels in stored order, as text: parsing would move integer-like keys. */
async function storedText(h: Harness, n = 1): Promise<string> {
  const { text } = await h.get(`/v1/runs/${runId(n)}`);
  return /"metadata":(null|\{[^}]*\})/.exec(text)?.[1] ?? "none";
}

async function stored(h: Harness, n = 1): Promise<Record<string, unknown>> {
  return JSON.parse(await storedText(h, n)) ?? {};
}

function dropped(sent: Answer): string | null {
  return sent.headers.get("runledger-dropped");
}

for (const [tier, kept] of Object.entries(KEPT) as [Tier, number][]) {
  Deno.test(`decision 38: of fifteen labels the plan ${tier} keeps the first ${kept}`, async () => {
    await using h = await Harness.open({ tier });
    // Named z, y, x …: only the sent order gives this response.
    const names = Array.from({ length: 15 }, (_, i) => String.fromCharCode(122 - i));
    const metadata = Object.fromEntries(names.map((name, i) => [name, `v${i}`]));
    const calls: [number, string, Record<string, unknown>][] = [
      [1, "/v1/runs", aRun(1, { metadata })],
      [2, `/v1/runs/${runId(2)}/finish`, aFinish({ metadata })],
      [3, "/v1/heartbeats", aHeartbeat(3, { metadata })],
    ];
    for (const [n, path, body] of calls) {
      const answer = await h.post(path, body);
      assertEquals([answer.status, dropped(answer)], [
        202,
        kept === 15 ? null : `metadata=${15 - kept}`,
      ]);
      assertEquals(Object.keys(await stored(h, n)), names.slice(0, kept));
    }
  });

  Deno.test(`decision 38: on ${tier} nothing is reported if nothing was sent`, async () => {
    await using h = await Harness.open({ tier });
    for (const [n, metadata] of [[1, undefined], [2, null], [3, {}], [4, []]] as const) {
      const sent = await h.post("/v1/heartbeats", aHeartbeat(n, { metadata }));
      assertEquals([sent.status, dropped(sent)], [202, null]);
      assertEquals(await stored(h, n), {});
    }
  });
}

Deno.test("decision 38: labels that can never be stored do not count toward the limit", async () => {
  await using h = await Harness.open({ tier: "team" });
  const metadata = {
    nested: { a: 1 },
    list: [1],
    nothing: null,
    ["k".repeat(21)]: "long key",
    long: "v".repeat(51),
    one: 1,
    two: 2,
    three: 3,
    four: 4,
  };
  const response = await h.post("/v1/runs", aRun(1, { metadata }));
  assertEquals([response.status, dropped(response)], [202, "metadata=6"]);
  assertEquals(await stored(h), { one: 1, two: 2, three: 3 });
});

Harness.test("contract 14: a key has at most 20 characters and a value 50, both as code points", async (h) => {
  const metadata = {
    ["🦉".repeat(20)]: "🦉".repeat(50),
    ["🦉".repeat(21)]: "x",
    wide: "🦉".repeat(51),
    ["k".repeat(20)]: "v".repeat(50),
    ["ß".repeat(21)]: "x",
    "": "",
  };
  const response = await h.post("/v1/runs", aRun(1, { metadata }));
  assertEquals([response.status, dropped(response)], [202, "metadata=3"]);
  assertEquals(await stored(h), {
    ["🦉".repeat(20)]: "🦉".repeat(50),
    ["k".repeat(20)]: "v".repeat(50),
    "": "",
  });
});

Harness.test("decision 38: numbers and booleans stay typed; numbers outside JSON's range are dropped", async (h) => {
  const labels = '"int":7,"big":9007199254740991,"float":-0.25,"yes":true,"no":false,"text":"7"';
  const body = `{"id":"${runId(1)}","agent":"a","metadata":{${labels},"huge":1e999}}`;
  const response = await h.post("/v1/heartbeats", body);
  assertEquals([response.status, dropped(response)], [202, "metadata=1"]);
  assertEquals(await storedText(h), `{${labels}}`);
});

Harness.test("decision 38: names of inherited object members are ordinary labels", async (h) => {
  const labels = '{"__proto__":"a","constructor":"b","toString":"c"}';
  const body = `{"id":"${runId(1)}","agent":"a","metadata":${labels}}`;
  assertEquals((await h.post("/v1/heartbeats", body)).status, 202);
  assertEquals(await storedText(h), labels);
});

Deno.test("decision 38: a repeated label is one, with its last value", async () => {
  await using h = await Harness.open({ tier: "team" });
  const labels = '{"a":1,"b":2,"\\u0061":3,"c":4}';
  const response = await h.post(
    "/v1/heartbeats",
    `{"id":"${runId(1)}","agent":"a","metadata":${labels}}`,
  );
  assertEquals(dropped(response), null);
  assertEquals(await storedText(h), '{"a":3,"b":2,"c":4}');
});

Harness.test("decision 14: labels of a retry change nothing", async (h) => {
  await h.post("/v1/runs", aRun(1, { metadata: { a: 1 }, feature: "f", customer_id: "c" }));
  const before = await h.dump();
  const retry = aRun(1, { metadata: { b: 2 }, feature: "g", customer_id: "d" });
  assertEquals((await h.post("/v1/runs", retry)).status, 200);
  assertEquals(await h.dump(), before);
});

freeTeam.test("decision 38: a dropped text is nowhere in the store", async (h) => {
  await h.post("/v1/runs", aRun(1, { metadata: { secret: "do-not-keep" } }));
  const lines = (await h.dump()).join("\n") + (await h.get(`/v1/runs/${runId(1)}`)).text;
  assert(!lines.includes("do-not-keep"));
});
