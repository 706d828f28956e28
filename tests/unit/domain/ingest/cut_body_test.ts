/**
 * Partially parsed bodies: which fields are read, and that the complete text is checked (R7, R10).
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { cutBody, type CutShape } from "../../../../domain/ingest/cut_body.ts";
import { BadJson, ValueScan } from "../../../../domain/core/json_bytes.ts";
import { runAllSlices } from "../../../../domain/core/time_slices.ts";
import { readLlmCall } from "../../../../domain/pricing/llm_call.ts";
import {
  EVENT_BYTES_MAX,
  EVENTS_PER_BATCH_MAX,
  PREVIEW_CHARS_MAX,
  SCORE_NAME_CHARS_MAX,
  SCORES_MAX,
  USAGE_FIELD_BYTES_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../../../../domain/core/limits.ts";

const encoder = new TextEncoder();

function cut(text: string, shape: CutShape) {
  return runAllSlices(cutBody(encoder.encode(text), shape));
}

/** Returns the cut body of a valid request. */
function cutValid(text: string, shape: CutShape) {
  const body = cut(text, shape);
  assert(body.ok, JSON.stringify(body));
  return body.value;
}

function code(text: string, shape: CutShape = "fields"): string | null {
  const body = cut(text, shape);
  return body.ok ? null : body.problem.code;
}

/** True if the scanner accepts a text as one JSON value. */
function isJson(text: string): boolean {
  const bytes = encoder.encode(` ${text} `);
  const scan = new ValueScan(bytes);
  scan.begin(0);
  try {
    while (!scan.readOn());
  } catch (error) {
    assert(error instanceof BadJson);
    return false;
  }
  return new TextDecoder().decode(bytes.subarray(scan.at)).trim() === "";
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

Deno.test("R10: the scanner accepts exactly what JSON.parse accepts", () => {
  const parts = '{}[],:"\\ \t\n01-+.eEaxu/tfn😀'.split("").concat([
    "true",
    "false",
    "null",
    '"a":',
  ]);
  const junk = fc.array(fc.constantFrom(...parts), { maxLength: 8 }).map((some) => some.join(""));
  const edited = fc.tuple(fc.json(), fc.nat(), fc.constantFrom("", ...parts), fc.nat(3))
    .map(([text, at, put, gone]) => {
      const position = at % (text.length + 1);
      return (text.slice(0, position) + put + text.slice(position + gone)).toWellFormed();
    });
  const texts = fc.oneof(fc.json(), junk, edited);
  fc.assert(
    fc.property(texts, (text) => assertEquals(isJson(text), parses(text), text)),
    { numRuns: 5_000 },
  );
});

Deno.test("R10: the scanner counts nesting without using the stack", () => {
  for (const [text, levels] of [["1", 0], ['"["', 0], ["{}", 1], ['[{"a":[]},[]]', 3]] as const) {
    const scan = new ValueScan(encoder.encode(text));
    scan.begin(0);
    assert(scan.readOn());
    assertEquals(scan.levels, levels);
  }
  const depth = 2_000_000;
  assertEquals(isJson("[".repeat(depth) + "]".repeat(depth)), true);
  assertEquals(isJson('{"a":['.repeat(depth / 2) + "]}".repeat(depth / 2)), true);
  assertEquals(isJson('{"a":['.repeat(depth / 2) + "}]".repeat(depth / 2)), false);
  assertEquals(isJson("[".repeat(depth)), false);
});

Deno.test("R10: each known field is kept as sent; of a repeated field the last one counts", () => {
  const body = cutValid(
    '\ufeff {"id":1,"output":{"a":1.0},"x":{"id":2},"\\u0069d":"b","metadata":{"2":1,"1":[]},"goal":null}',
    "fields",
  );
  assertEquals(body.text, '{"id":"b","output":{"a":1.0},"metadata":{"2":1,"1":[]},"goal":null}');
  assertEquals(body.value, { id: "b", output: {}, x: null, metadata: {}, goal: null });
  assertEquals([body.leftOut?.size, body.events], [0, undefined]);
});

Deno.test("R10: a field that is not read is left out and reported", () => {
  const large = `[${"{},".repeat(EVENT_BYTES_MAX / 3)}{}]`;
  const leftOut = (text: string) => [...cutValid(text, "fields").leftOut ?? ["absent"]];
  assertEquals(leftOut(`{"goal":{"a":${large}},"id":"b"}`), [["goal", 1]]);
  assertEquals(leftOut(`{"goal":{"a":${large}},"goal":{}}`), []);
  assertEquals(leftOut(`{"scores":${"[".repeat(65)}${"]".repeat(65)}}`), [["scores", 1]]);
  const labels = `{"metadata":{"a":"${"x".repeat(WHOLE_BODY_BYTES_MAX)}"}}`;
  assertEquals(leftOut(labels), [["metadata", 1]]);
  // An output is truncated later, from its text.
  assertEquals(cutValid(`{"output":${large}}`, "fields").text, `{"output":${large}}`);
});

Deno.test("R6, R10: of scores that are too large or too deep only the bad ones are lost", () => {
  const of = (scores: string) => {
    const { text, value, leftOut } = cutValid(`{"scores":${scores},"status":1}`, "fields");
    assertEquals(JSON.parse(text), value);
    return [text.slice('{"scores":'.length, -',"status":1}'.length), leftOut?.get("scores")];
  };
  const deep = "[".repeat(65) + "]".repeat(65);
  const long = `"${"x".repeat(EVENT_BYTES_MAX)}"`;
  assertEquals(of(`{"b":1.0,"a":${deep},"1":false}`), ['{"b":1.0,"1":false}', 1]);
  assertEquals(of(`{"b":1,${long}:1,"":1,"c":1e999,"d":null}`), ['{"b":1}', 4]);
  assertEquals(of(`{"a":1,"b":${long},"a":2,"c":3,"c":"x"}`), ['{"a":2}', 2]);
  assertEquals(of(`{"a":1${" ".repeat(EVENT_BYTES_MAX)}}`), ['{"a":1}', undefined]);
  assertEquals(of(`{"a":${deep},"scores":1}`), ['{"scores":1}', 1]);
  const name = "\\ud83d\\ude00".repeat(SCORE_NAME_CHARS_MAX);
  assertEquals(of(`{"${name}":1,"a":${deep}}`), [`{"${"😀".repeat(SCORE_NAME_CHARS_MAX)}":1}`, 1]);
  const many = Array.from({ length: 50_000 }, (_, n) => `"n${n}":${n}`);
  assertEquals(of(`{${many}}`), [`{${many.slice(0, SCORES_MAX)}}`, 50_000 - SCORES_MAX]);
  // The last of repeated scores counts.
  assertEquals(of(`{"a":${deep},"b":1},"scores":{"c":2}`), ['{"c":2}', undefined]);
});

Deno.test("R1, R10: an empty list stays empty, and no other list becomes empty", () => {
  for (const list of ["[]", "[ \n]", `[${" ".repeat(WHOLE_BODY_BYTES_MAX)}]`]) {
    for (const name of ["metadata", "output", "scores"]) {
      const body = cutValid(`{"${name}":${list}}`, "fields");
      assertEquals([body.text, body.value, [...body.leftOut ?? ["absent"]]], [
        `{"${name}":[]}`,
        { [name]: [] },
        [],
      ]);
    }
  }
  assertEquals(cutValid('{"metadata":[ 1]}', "fields").value, { metadata: [0] });
});

Deno.test("R10: names of unknown fields are kept for the report, up to a limit", () => {
  const body = cutValid(`{${'"__proto__":1,"a":[1],'.repeat(2)}"id":3}`, "fields");
  assertEquals([Object.keys(body.value), body.value.id], [["__proto__", "a", "id"], 3]);
  const many = Array.from({ length: 5_000 }, (_, n) => `"name${n}":[${n}]`).join();
  for (const [shape, last] of [["fields", "id"], ["events", "events"]] as const) {
    const { value } = cutValid(`{${many},"${last}":null}`, shape);
    assertEquals([Object.keys(value).length, value[last]], [33, null]);
  }
  assertEquals(cutValid(`{"${"k".repeat(100_000)}":1}`, "fields").text, "{}");
});

Deno.test("R10: a body that is not a JSON object or not UTF-8 is refused, wherever that shows", () => {
  const wrong = ["", " ", "[]", "null", "{", '{"a":1', '{"a":1}}', '{"a":1} x', '{"a"1}', "{a:1}"];
  wrong.push('{"a":[1,]}', '{"a":1,}', '{"a":[}', '{"output":{"a":tru}}', '{"x":"\u0001"}');
  for (const text of wrong) {
    assertEquals([code(text), code(text, "events")], ["invalid_json", "invalid_json"], text);
  }
  assertEquals(code('{"events":[{"data":{"a":01}}]}', "events"), "invalid_json");
  const broken = encoder.encode('{"x":"???"}');
  broken.set([0xed, 0xa0, 0x80], 6);
  const body = runAllSlices(cutBody(broken, "fields"));
  assertEquals(body.ok ? null : body.problem.code, "invalid_json");
});

Deno.test("R10: a batch is cut into its events, and one event too many stops the scan", () => {
  const body = cutValid('{"events":[7],"x":1, "ev\\u0065nts" : [ {"a":1.0} ,{},3 ] }', "events");
  assertEquals(body.events?.map(({ text }) => text), ['{"a":1.0}', "{}", "3"]);
  assertEquals(cutValid('{"events":[{}],"events":null}', "events").events, undefined);
  assertEquals(cutValid('{"events":{}}', "events").value, { events: {} });
  const most = "{},".repeat(EVENTS_PER_BATCH_MAX - 1);
  assertEquals(cutValid(`{"events":[${most}{}]}`, "events").events?.length, EVENTS_PER_BATCH_MAX);
  // The remaining text is not scanned.
  assertEquals(code(`{"events":[${most}{},{}, nonsense`, "events"), "batch_too_large");
});

Deno.test("R7: an event that is too large keeps its metrics and the beginning of its data", () => {
  const usage = '{"input_tokens":12345678901234567890}';
  const metricMembers = `"model":"m","usage":${usage},"model":"n"`;
  const remainder = `"text":"${"é😀".repeat(EVENT_BYTES_MAX / 6)}","error":"${"e".repeat(20_000)}"`;
  const data = `{${metricMembers},${remainder}}`;
  const event = `{"type":"llm_call","data":${data},"unknown":${data},"id":"a"}`;
  const [found] = cutValid(`{"events":[${event}]}`, "events").events ?? [];
  assert(found !== undefined && found.isTruncated);
  const preview = JSON.stringify(Array.from(data).slice(0, PREVIEW_CHARS_MAX).join(""));
  assertEquals(
    found.text,
    `{"type":"llm_call","unknown":null,"id":"a","data":{"truncated":true,` +
      `"bytes":${encoder.encode(data).length},"preview":${preview},` +
      `"model":"n","usage":${usage},"error":true}}`,
  );
});

Deno.test("R7: metrics cannot bypass the size limit", () => {
  const filler = `"text":"${"x".repeat(EVENT_BYTES_MAX)}"`;
  const of = (members: string) => {
    const [event] = cutValid(`{"events":[{"data":{${members},${filler}}}]}`, "events").events ?? [];
    const { truncated: _, bytes: __, preview: ___, ...figures } =
      JSON.parse(event?.text ?? "").data;
    return figures;
  };
  const long = "m".repeat(USAGE_FIELD_BYTES_MAX - 2);
  assertEquals(of(`"model":"${long}"`), { model: long });
  assertEquals(of(`"model":"${long}x"`), {});
  assertEquals(of(`"usage":${"[".repeat(17)}${"]".repeat(17)}`), {});
  const all = ["model", "provider", "usage", "mode", "status", "value"];
  assertEquals(Object.keys(of(all.map((name) => `"${name}":"${long}"`).join())).length, 4);
});

Deno.test("R7: the counts of a cut container price the same as those of the uncut one", () => {
  const anthropic = { input_tokens: 5, output_tokens: 7, cache_read_input_tokens: "11" };
  const written = { ephemeral_5m_input_tokens: 13, ephemeral_1h_input_tokens: 17 };
  const openai = { prompt_tokens: 1e3, completion_tokens: 20 };
  const details = { cached_tokens: 300, cache_write_tokens: 40 };
  const billed = { input_tokens: 3, output_tokens: 4 };
  const deep = JSON.parse("[".repeat(20) + "]".repeat(20));
  const text = "x".repeat(EVENT_BYTES_MAX);
  for (const noise of [{ noise: text, deep }, { deep }]) {
    const payloads: Record<string, unknown>[] = [
      { usage: { ...noise, ...openai, prompt_tokens_details: details } },
      { usage: { ...openai, prompt_tokens_details: { ...details, ...noise } } },
      { usage: { ...anthropic, cache_creation: written, service_tier: "batch", ...noise } },
      { usage: { ...anthropic, cache_creation: { ...noise, ...written } } },
      { usage: { ...anthropic, cache_creation_input_tokens: 19, ...noise } },
      { usage: { ...billed, input_tokens_details: { ...details, ...noise } } },
      { usage: { ...billed, input_tokens_details: text, cache_read_input_tokens: 2 } },
      { usage: { ...noise, prompt_tokens: [text], ...billed } },
      { usageMetadata: { promptTokenCount: 8, thoughtsTokenCount: 9, promptDetails: noise } },
      { meta: { ...noise, billed_units: billed, tokens: { input_tokens: 99 } } },
      { meta: { ...noise, tokens: { ...billed, ...noise } } },
      { ...openai, prompt_tokens_details: { ...noise, ...details } },
      { ...billed, input_tokens_details: { ...noise, ...details } },
    ];
    for (const payload of payloads) {
      const data = { model: "m", ...payload, filler: text };
      const [event] = cutValid(JSON.stringify({ events: [{ data }] }), "events").events ?? [];
      assert(event !== undefined && event.isTruncated);
      assert(event.text.length < 2 * USAGE_FIELD_BYTES_MAX);
      const { call } = readLlmCall(JSON.parse(event.text).data);
      assertEquals(call, readLlmCall(data).call, JSON.stringify(payload).slice(0, 200));
      assert(call.counted);
    }
  }
});

Deno.test("R7: a repeated metric uses its space once", () => {
  const long = JSON.stringify("m".repeat(USAGE_FIELD_BYTES_MAX - 2));
  const members = `${
    `"model":${long},`.repeat(6)
  }"model":"m","input_tokens":1,"usage":{"a":${long}}`;
  const filler = `"text":"${"x".repeat(EVENT_BYTES_MAX)}"`;
  const [event] = cutValid(`{"events":[{"data":{${members},${filler}}}]}`, "events").events ?? [];
  const { model, input_tokens, usage } = JSON.parse(event?.text ?? "").data;
  assertEquals([model, input_tokens, usage], ["m", 1, {}]);
});

Deno.test("R7: data that is too deep is truncated, data that fits is not", () => {
  const nest = (levels: number) => "[".repeat(levels - 1) + "]".repeat(levels - 1);
  for (const [levels, isTruncated] of [[64, false], [65, true], [500_000, true]] as const) {
    const event = `{"data":{"a":${nest(levels)}}}`;
    const [found] = cutValid(`{"events":[${event}]}`, "events").events ?? [];
    assertEquals(found?.isTruncated, isTruncated, String(levels));
    if (!isTruncated) assertEquals(found?.text, event);
  }
  // Fields that are not read count for neither size nor depth.
  const event = `{"data":{"a":1.0},"x":${nest(90)},"y":"${"y".repeat(EVENT_BYTES_MAX)}"}`;
  const [found] = cutValid(`{"events":[${event}]}`, "events").events ?? [];
  assertEquals(
    found,
    { text: '{"x":null,"y":null,"data":{"a":1.0}}', isTruncated: false } as typeof found,
  );
});

Deno.test("R10: parsing never blocks the event loop for long", () => {
  const bytes = encoder.encode(`{"x":[${"{},".repeat(700_000)}{}],"events":[]}`);
  let turns = 0;
  for (const _ of cutBody(bytes, "events")) turns++;
  assert(turns > bytes.length / 65_536, `${turns} turns`);
});
