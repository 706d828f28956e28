/**
 * Bodies too large to be parsed completely: the stored parts, and what is refused
 * (R7, R10).
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { gzipSync } from "node:zlib";
import {
  BATCH_STRUCTURE_MAX,
  BODY_BYTES_MAX,
  EVENT_BYTES_MAX,
  EVENTS_BODY_BYTES_MAX,
  EVENTS_PER_BATCH_MAX,
  OUTPUT_BYTES_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../../../domain/core/limits.ts";
import {
  aFinish,
  aHeartbeat,
  anEvent,
  aRun,
  eventId,
  runId,
} from "../../support/builders/requests.ts";
import { enterprise, Harness } from "../../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;

/** Deterministic random letters. */
function noise(length: number, seed: number): string {
  const letters = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    letters[i] = 35 + (state >>> 8) % 57;
  }
  return new TextDecoder().decode(letters);
}

/** Incompressible events of exactly this many bytes each. */
function largeEvents(count: number, bytes: number): string[] {
  return Array.from({ length: count }, (_, n) => {
    const empty = JSON.stringify(anEvent(n, { data: { n: 1, noise: "" } }));
    return empty.replace('"noise":""', () => `"noise":"${noise(bytes - empty.length, n)}"`);
  });
}

/** An object of this many bytes, or two more, with as many values as possible. */
function wide(bytes: number): string {
  return `{"a":[${"0,".repeat((bytes - 8) / 2)}0]}`;
}

/** An object of this many bytes, or three more, with as many lists as possible. */
function structured(bytes: number): string {
  return `{"a":[${"[],".repeat((bytes - 10) / 3)}[]]}`;
}

/** Ids of all events of the run, and the text that contains them. */
async function readEvents(h: Harness): Promise<{ ids: string[]; text: string }> {
  const ids: string[] = [];
  let [text, cursor] = ["", ""];
  for (;;) {
    const page = await h.get(`${PATH}?events_limit=1000${cursor}`);
    assertEquals(page.status, 200);
    text += page.text;
    ids.push(...page.json.events.map(({ id }: { id: string }) => id));
    if (page.json.events_cursor === null) return { ids, text };
    cursor = `&events_cursor=${page.json.events_cursor}`;
  }
}

Harness.test("R10: 50 incompressible events of 256 KiB are stored completely, and once", async (h) => {
  const events = largeEvents(EVENTS_PER_BATCH_MAX, EVENT_BYTES_MAX);
  const body = `{"events":[${events}]}`;
  assert(body.length > 13_000_000 && body.length < EVENTS_BODY_BYTES_MAX);
  const answer = await h.post(`${PATH}/events`, body);
  assertEquals([answer.status, answer.json], [202, { accepted: 50, duplicates: 0 }]);
  assertEquals(answer.headers.get("runledger-dropped"), null);
  await h.restart();
  const again = await h.post(`${PATH}/events`, body);
  assertEquals([again.status, again.json], [202, { accepted: 0, duplicates: 50 }]);
  assertEquals(await h.usage(), 50);
  const { ids, text } = await readEvents(h);
  assertEquals(ids, events.map((_, n) => eventId(n)));
  for (const event of events) assert(text.includes(event.slice(event.indexOf('"data":'), -1)));
});

Harness.test("R10: a large batch adds the events that are not stored yet", async (h) => {
  const events = largeEvents(12, EVENT_BYTES_MAX);
  assertEquals((await h.post(`${PATH}/events`, `{"events":[${events.slice(0, 5)}]}`)).status, 202);
  const answer = await h.post(`${PATH}/events`, `{"events":[${events},${events[0]}]}`);
  assertEquals(answer.json, { accepted: 7, duplicates: 6 });
});

Harness.test("R10: one bad event refuses a large batch, and nothing of it is stored", async (h) => {
  const events = largeEvents(20, 100_000);
  const before = await h.dump();
  const bad: [string, string][] = [
    ["7", "events[20] must be an object"],
    ['{"id":"x"}', '"events[20].id"'],
    ["{}", '"events[20].id"'],
  ];
  for (const [event, expected] of bad) {
    const { status, json } = await h.post(`${PATH}/events`, `{"events":[${events},${event}]}`);
    assertEquals(status, 400);
    assert(json.message.includes(expected), json.message);
  }
  const cut = await h.post(`${PATH}/events`, `{"events":[${events}`);
  assertEquals([cut.status, cut.json.error], [400, "invalid_json"]);
  const many = await h.post(`${PATH}/events`, `{"events":[${events},${"{},".repeat(31)}{}]}`);
  assertEquals([many.status, many.json.error, many.json.field], [400, "batch_too_large", "events"]);
  const none = await h.post(`${PATH}/events`, `{"x":"${"x".repeat(WHOLE_BODY_BYTES_MAX)}"}`);
  assertEquals([none.status, none.json.error, none.json.field], [400, "missing_field", "events"]);
  assertEquals(await h.dump(), before);
});

Harness.test("R7: an event of 16 MiB is stored with its price, and repriced from the stored part", async (h) => {
  const call = { model: "gpt-4o", provider: "openai", input_tokens: 1_000, output_tokens: 100 };
  const small = anEvent(1, { type: "llm_call", data: call });
  const event = JSON.stringify(anEvent(2, { type: "llm_call", data: call }));
  const large = event.replace('"data":{', () => `"data":{"answer":${wide(15_000_000)},`);
  const body = `{"events":[${JSON.stringify(small)},${large}]}`;
  const answer = await h.post(`${PATH}/events`, gzipSync(body), {
    headers: { "Content-Encoding": "gzip" },
  });
  assertEquals([answer.status, answer.headers.get("runledger-dropped")], [202, "data=1"]);
  const { usage, cost_usd, events } = (await h.get(PATH)).json;
  assertEquals([usage.input_tokens, usage.output_tokens], [2_000, 200]);
  assert(cost_usd > 0);
  assertEquals(events[0].cost_usd, events[1].cost_usd);
  const { truncated, bytes, preview, ...kept } = events[1].data;
  assertEquals([truncated, kept], [true, call]);
  assert(bytes > 15_000_000 && preview.startsWith('{"answer":{"a":[0,'));
  // The explanation of the cost reads the stored data.
  const cost = (await h.get(`${PATH}/cost`)).json;
  assertEquals(cost.calls[0].cost_usd, cost.calls[1].cost_usd);
});

enterprise.test("R7, R10: a finish and a heartbeat of 2 MiB are stored, their output truncated", async (h) => {
  const calls = [
    [1, `${PATH}/finish`, aFinish({ scores: { a: 1 }, metadata: { b: "c" } })],
    [2, "/v1/heartbeats", aHeartbeat(2, { metadata: { b: "c" }, cost_usd: 0.5 })],
  ] as const;
  for (const [n, path, fields] of calls) {
    const remainder = JSON.stringify(fields).slice(0, -1);
    const output = structured(BODY_BYTES_MAX - remainder.length - 15);
    const body = `${remainder},"output":${output}}`;
    assert(body.length > BODY_BYTES_MAX - 20 && body.length <= BODY_BYTES_MAX);
    const answer = await h.post(path, body);
    assertEquals([answer.status, answer.headers.get("runledger-dropped")], [202, "output=1"]);
    const run = (await h.get(`/v1/runs/${runId(n)}`)).json;
    assertEquals(run.output, {
      truncated: true,
      bytes: output.length,
      preview: output.slice(0, 2_000),
    });
    assertEquals([run.metadata, run.flags.includes("truncated")], [{ b: "c" }, true]);
  }
  const [{ scores }, { cost_usd }] = await Promise.all(
    [1, 2].map(async (n) => (await h.get(`/v1/runs/${runId(n)}`)).json),
  );
  assertEquals([scores[0]?.value, cost_usd], [1, 0.5]);
});

Harness.test("R10: a body with 2 MiB of other fields opens the run, and dropped fields are reported", async (h) => {
  const remainder = JSON.stringify(aRun(1)).slice(0, -1);
  const opened = await h.post("/v1/runs", `${remainder},"more":${wide(2_000_000)}}`);
  assertEquals([opened.status, opened.headers.get("runledger-ignored")], [202, "more"]);
  const finish = JSON.stringify(aFinish()).slice(0, -1);
  const closed = await h.post(`${PATH}/finish`, `${finish},"scores":${wide(1_500_000)}}`);
  assertEquals([closed.status, closed.headers.get("runledger-dropped")], [202, "scores=1"]);
  assertEquals((await h.get(PATH)).json.status, "success");
  const mixed = `{"b":0.5,"a":${wide(1_500_000)},"1":true,"c":${wide(70)}}`;
  const other = await h.post("/v1/runs", aRun(2));
  assertEquals(other.status, 202);
  const path = `/v1/runs/${runId(2)}`;
  const accepted = await h.post(`${path}/finish`, `${finish},"scores":${mixed}}`);
  assertEquals([accepted.status, accepted.headers.get("runledger-dropped")], [202, "scores=2"]);
  const { scores } = (await h.get(path)).json;
  const pairs = scores.map(({ name, value }: Record<string, unknown>) => [name, value]);
  assertEquals(pairs, [["b", 0.5], ["1", true]]);
});

Harness.test("R1, R10: empty lists are empty objects in a large body too", async (h) => {
  const more = `,"metadata":[ \n],"output":[],"more":${wide(2_000_000)}}`;
  const answer = await h.post("/v1/heartbeats", JSON.stringify(aHeartbeat(1)).slice(0, -1) + more);
  assertEquals([answer.status, answer.headers.get("runledger-dropped")], [202, null]);
  const { metadata, output } = (await h.get(PATH)).json;
  assertEquals([metadata, output], [{}, {}]);
});

Harness.test("R10: a dropped field is reported once, and refused if it is required", async (h) => {
  const deep = "[".repeat(70) + "]".repeat(70);
  const large = wide(WHOLE_BODY_BYTES_MAX);
  const names = ["goal", "feature", "customer_id", "parent_run_id", "idle_timeout_seconds"];
  for (const [n, name] of names.entries()) {
    for (const [i, value] of [deep, `{"a":${deep}}`, large].entries()) {
      const { [name]: _, ...rest } = aRun(10 * n + i) as Record<string, unknown>;
      const body = `${JSON.stringify(rest).slice(0, -1)},"${name}":${value}}`;
      const answer = await h.post("/v1/runs", body);
      const dropped = answer.headers.get("runledger-dropped");
      assertEquals([answer.status, dropped], [202, `${name}=1`], answer.text);
    }
  }
  const labels = `{"a":"${"x".repeat(WHOLE_BODY_BYTES_MAX)}"}`;
  const { metadata: _, ...run } = aRun(99) as Record<string, unknown>;
  const opened = await h.post(
    "/v1/runs",
    `${JSON.stringify(run).slice(0, -1)},"metadata":${labels}}`,
  );
  assertEquals([opened.status, opened.headers.get("runledger-dropped")], [202, "metadata=1"]);
  for (const [name, error] of [["agent", "invalid_field"], ["id", "invalid_id"]] as const) {
    const body = `${JSON.stringify(aRun(98)).slice(0, -1)},"${name}":${deep}}`;
    const { status, json } = await h.post("/v1/runs", body);
    assertEquals([status, json.error, json.field], [400, error, name]);
  }
});

Harness.test("R10: the control API's body limit is unchanged", async (h) => {
  const key = (bytes: number) => JSON.stringify({ kind: "api_key", name: "a" }).padEnd(bytes);
  assertEquals((await h.post("/v1/keys", key(WHOLE_BODY_BYTES_MAX))).status, 201);
  assertEquals((await h.post("/v1/keys", key(WHOLE_BODY_BYTES_MAX + 1))).status, 413);
});

Harness.test("R10: a large batch of too much structure is refused, whatever its events are", async (h) => {
  const before = await h.dump();
  const full = EVENTS_BODY_BYTES_MAX - 400;
  const bodies = [
    `{"events":[${"{},".repeat(full / 3 - 10)}{}]}`,
    `{"more":${structured(full - 200)},"events":[${JSON.stringify(anEvent(1))}]}`,
    `{"more":${"[".repeat(full / 2 - 20)}${"]".repeat(full / 2 - 20)},"events":[]}`,
    `{"events":[${"[".repeat(full / 2 - 20)}`,
  ];
  for (const text of bodies) {
    const { status, json } = await h.post(`${PATH}/events`, gzipSync(text), {
      headers: { "Content-Encoding": "gzip" },
    });
    assertEquals([status, json.error], [413, "payload_too_large"]);
    assertStringIncludes(json.message, String(BATCH_STRUCTURE_MAX));
    assertStringIncludes(json.message, "send fewer events");
  }
  assertEquals(await h.dump(), before);
});

Harness.test("R7: an output of any type may be too large", async (h) => {
  const outputs = [`"${"é".repeat(OUTPUT_BYTES_MAX)}"`, `[${"1,".repeat(OUTPUT_BYTES_MAX)}1]`];
  for (const [n, output] of outputs.entries()) {
    const body = `${JSON.stringify(aHeartbeat(n)).slice(0, -1)},"output":${output}}`;
    assertEquals((await h.post("/v1/heartbeats", body)).status, 202);
    const { bytes, preview } = (await h.get(`/v1/runs/${runId(n)}`)).json.output;
    assertEquals([bytes, preview], [
      new TextEncoder().encode(output).length,
      output.slice(0, 2_000),
    ]);
  }
});
