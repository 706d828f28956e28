/** Payloads are returned as the exact text sent, and their metrics are counted. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { aFinish, aHeartbeat, anEvent, eventId, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const PATH = `/v1/runs/${runId(1)}`;

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
