/** OTLP bodies: both encodings give the same spans, and broken ones none. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { PbfWriter } from "pbf";
import type { JsonFields } from "../../../domain/core/body.ts";
import type { KeyUse } from "../../../domain/otlp/keys.ts";
import { MESSAGE_CHARS_MAX, MESSAGE_FIELDS_MAX } from "../../../domain/otlp/messages.ts";
import {
  ATTRIBUTE_CHARS_MAX,
  attributeFilter,
  checkSpans,
  SPAN_ATTRIBUTES_MAX,
} from "../../../domain/otlp/span.ts";
import { readJson } from "../../../routes/otlp/json.ts";
import {
  FIELDS_MAX,
  MalformedBody,
  readProtobuf,
  SPANS_MAX,
  TooLarge,
} from "../../../routes/otlp/protobuf.ts";
import { recordedExports, runsOf } from "../../support/builders/spans.ts";
import { complete } from "../../../domain/core/steps.ts";

function fromJson(text: string, useOf: (key: string) => KeyUse) {
  return complete(readJson(text, useOf));
}

function read(bytes: Uint8Array, useOf: (key: string) => KeyUse) {
  return complete(readProtobuf(bytes, useOf));
}

const all = () => true;

const TRACE = "0af7651916cd43dd8448eb211c80319c", SPAN = "b7ad6b7169203331";

interface WireSpan {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly startNs?: number;
  readonly attributes?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
}

/** Attributes as sent, in order; a key may be there twice. */
function entriesOf(attributes: NonNullable<WireSpan["attributes"]>) {
  return Array.isArray(attributes) ? attributes : Object.entries(attributes);
}

/** Writes a request with one span in protobuf. */
function written({ traceId = TRACE, spanId = SPAN, startNs = 5e18, attributes = {} }: WireSpan) {
  const pbf = new PbfWriter();
  pbf.writeMessage(1, (_, resource) => {
    resource.writeMessage(2, (_, scope) => {
      scope.writeMessage(2, (_, span) => {
        span.writeBytesField(1, Uint8Array.fromHex(traceId));
        span.writeBytesField(2, Uint8Array.fromHex(spanId));
        span.writeFixed64Field(7, startNs);
        span.writeFixed64Field(8, startNs + 1e6);
        for (const [key, value] of entriesOf(attributes)) {
          span.writeMessage(9, (_, attribute) => {
            attribute.writeStringField(1, key);
            attribute.writeMessage(2, (_, any) => any.writeStringField(1, value), null);
          }, null);
        }
      }, null);
    }, null);
  }, null);
  return pbf.finish();
}

Deno.test("protobuf: a body with too many spans is refused, and is not read to its end", () => {
  const one = written({});
  const spans = new Uint8Array(one.length * (SPANS_MAX + 1));
  for (let at = 0; at < spans.length; at += one.length) spans.set(one, at);
  assertEquals(read(spans.subarray(one.length), all).length, SPANS_MAX);
  assertThrows(() => read(spans, all), TooLarge);
  // The rest is no message: it would be refused as malformed if it were read.
  const broken = new Uint8Array([...spans, 0xff, 0xff]);
  assertThrows(() => read(broken, all), TooLarge);
});

Deno.test("protobuf: a span with too many fields is refused, and many large spans are read in steps", () => {
  const attributes = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`key.${i}`, "v"]));
  const large = written({ attributes: attributes(19_000) });
  const body = new Uint8Array(large.length * 10);
  for (let at = 0; at < body.length; at += large.length) body.set(large, at);
  const steps = readProtobuf(body, () => false);
  let turns = 0;
  while (steps.next().done !== true) turns++;
  assertEquals(turns, 10);
  const tooLarge = written({ attributes: attributes(FIELDS_MAX / 3) });
  assertThrows(() => read(tooLarge, all), TooLarge, "send fewer attributes");
});

Deno.test("protobuf: each truncated body of a span is refused or has no more than it", () => {
  const bytes = written({ attributes: { "gen_ai.operation.name": "chat" } });
  assertEquals(checkSpans(read(bytes, all)).spans.length, 1);
  for (let length = 1; length < bytes.length; length++) {
    assertThrows(() => read(bytes.subarray(0, length), all), MalformedBody);
  }
  assertEquals(read(new Uint8Array(), all), []);
});

Deno.test("protobuf: mangled bodies are refused or read, and throw nothing else", async () => {
  let seed = 1;
  const random = (below: number) => (seed = seed * 48_271 % 2_147_483_647) % below;
  const bodies = (await recordedExports())
    .filter(({ contentType }) => contentType !== "application/json");
  let refused = 0;
  for (let n = 0; n < 2_000; n++) {
    const { body } = bodies[n % bodies.length] as typeof bodies[number];
    const mangled = body.slice(0, 1 + random(Math.min(body.length, 4_000)));
    for (let times = 1 + random(4); times > 0; times--) {
      mangled[random(mangled.length)] = random(256);
    }
    try {
      checkSpans(read(mangled, all));
    } catch (error) {
      assert(error instanceof MalformedBody, String(error));
      refused++;
    }
  }
  assert(refused > 1_000, `${refused} refused`);
});

Deno.test("protobuf: long texts are cut and further attributes are not read", () => {
  const attributes = Object.fromEntries(
    Array.from({ length: SPAN_ATTRIBUTES_MAX + 9 }, (_, i) => [`k${i}`, "é".repeat(40_000)]),
  );
  const [span] = checkSpans(read(written({ attributes }), all)).spans;
  assertEquals(span?.attributes.size, SPAN_ATTRIBUTES_MAX);
  const value = String(span?.attributes.get("k0"));
  assertEquals([value.length, value.endsWith("é…")], [ATTRIBUTE_CHARS_MAX, true]);
});

Deno.test("a span with bad ids or instants is rejected alone", () => {
  const bodies: readonly WireSpan[] = [
    {},
    { traceId: "0".repeat(32) },
    { spanId: "0".repeat(16) },
    { traceId: "ab" },
    { startNs: 0 },
  ];
  const sent = bodies.flatMap((span) => read(written(span), all));
  const { spans, rejected } = checkSpans(sent);
  assertEquals(spans.length, 1);
  assertEquals(Object.fromEntries(rejected), { bad_ids: 3, bad_instants: 1 });
});

Deno.test("JSON: ids in any case, 64-bit numbers as text or number, other keys ignored", () => {
  const span = {
    traceId: TRACE.toUpperCase(),
    spanId: SPAN,
    startTimeUnixNano: "5000000000000000000",
    endTimeUnixNano: 5_000_000_000_001_000_000,
    kind: 3,
    status: { code: 2, message: "no" },
    attributes: [
      { key: "a", value: { intValue: "7" } },
      { key: "b", value: { arrayValue: { values: [{ boolValue: true }, { bytesValue: "x" }] } } },
      { key: "c", value: { kvlistValue: { values: [{ key: "d", value: { doubleValue: 0.5 } }] } } },
      { key: "e", value: { stringValue: "\ud800" } },
    ],
    events: [{ name: "exception", attributes: [{ key: "f", value: { stringValue: "g" } }] }],
    unknown: {},
  };
  const body = { resourceSpans: [{ scopeSpans: [{ scope: { name: "s" }, spans: [span] }] }] };
  const [read] = checkSpans(fromJson(JSON.stringify(body), all)).spans;
  assertEquals([read?.traceId, read?.scope, read?.isClient, read?.isError], [
    TRACE,
    "s",
    true,
    true,
  ]);
  assertEquals(Object.fromEntries(read?.attributes ?? []), {
    a: 7,
    b: [true],
    c: { d: 0.5 },
    e: "\ufffd",
  });
  assertEquals(read?.exception?.get("f"), "g");
  assertEquals(Math.round((read?.endMs ?? 0) - (read?.startMs ?? 0)), 1);
});

Deno.test("JSON: what is no object is malformed, and one without spans is empty", () => {
  for (const text of ["", "[", "[]", "1", '"a"']) {
    assertThrows(() => fromJson(text, all), MalformedBody);
  }
  for (const text of ["{}", '{"resource_spans":[1]}', '{"resourceSpans":[1,{"scopeSpans":3}]}']) {
    assertEquals(checkSpans(fromJson(text, all)).spans, []);
  }
});

/** Returns the data of the one event that attributes give, from both encodings. */
function dataOf(attributes: NonNullable<WireSpan["attributes"]>, keepsContent = true): JsonFields {
  const useOf = attributeFilter(keepsContent);
  const sent = entriesOf(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const times = {
    startTimeUnixNano: "5000000000000000000",
    endTimeUnixNano: "5000000000001000000",
  };
  const span = { traceId: TRACE, spanId: SPAN, ...times, attributes: sent };
  const body = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
  const [ofProtobuf, ofJson] = [
    read(written({ attributes }), useOf),
    fromJson(JSON.stringify(body), useOf),
  ].map((spans) => {
    const [event, ...others] = runsOf(checkSpans(spans).spans, keepsContent)
      .flatMap(({ events }) => events);
    assertEquals(others, []);
    assertEquals(event?.flags ?? [], []);
    return JSON.parse(event?.data ?? "{}");
  });
  assertEquals(ofJson, ofProtobuf);
  return ofProtobuf;
}

const CALL: readonly [string, string][] = [
  ["gen_ai.operation.name", "chat"],
  ["gen_ai.request.model", "gpt-4o"],
  ["gen_ai.usage.input_tokens", "1200"],
  ["gen_ai.usage.output_tokens", "34"],
];

/** Attributes of one message. */
function message(prefix: string, content: string): [string, string][] {
  return [[`${prefix}.role`, "user"], [`${prefix}.content`, content]];
}

function messages(count: number, content: (n: number) => string): [string, string][] {
  return Array.from({ length: count }, (_, n) => message(`gen_ai.prompt.${n}`, content(n))).flat();
}

Deno.test("200 messages in 400 attributes leave those after them, and are all kept", () => {
  const answer: [string, string] = ["gen_ai.completion.0.content", "done"];
  for (const prefix of ["gen_ai.prompt", "llm.input_messages"]) {
    const infix = prefix === "gen_ai.prompt" ? "" : ".message";
    const sent = Array.from({ length: 200 }, (_, n) => message(`${prefix}.${n}${infix}`, `m${n}`));
    const { input, output, input_tokens, output_tokens, model } = dataOf([
      ...sent.flat(),
      answer,
      ...CALL,
    ]);
    const expected = Array.from({ length: 200 }, (_, n) => ({ role: "user", content: `m${n}` }));
    assertEquals([input_tokens, output_tokens, model], [1_200, 34, "gpt-4o"]);
    assertEquals([input, output], [expected, [{ content: "done" }]]);
  }
});

Deno.test("of longer conversations the last messages are kept, in number and in characters", () => {
  const many = dataOf([...messages(2_000, (n) => `m${n}`), ...CALL]);
  const last = (many.input as { content: string }[]).at(-1);
  assertEquals([(many.input as unknown[]).length, last?.content], [
    MESSAGE_FIELDS_MAX / 2,
    "m1999",
  ]);
  const long = dataOf([...messages(12, (n) => `${n}`.padEnd(20_000, "é")), ...CALL]);
  const contents = (long.input as { content: string }[]).map(({ content }) => content);
  const chars = contents.reduce((sum, { length }) => sum + length, 0);
  assert(
    chars <= MESSAGE_CHARS_MAX && chars >= MESSAGE_CHARS_MAX - ATTRIBUTE_CHARS_MAX,
    `${chars}`,
  );
  assertEquals(contents.at(-1)?.slice(0, 3), "11é");
  assertEquals([many.input_tokens, long.input_tokens], [1_200, 1_200]);
});

Deno.test("positions of messages may have gaps, repeat, and be as large as they like", () => {
  const { input } = dataOf([
    ...CALL,
    ...message("gen_ai.prompt.999999999", "last"),
    ...message("gen_ai.prompt.7", "first"),
    ["gen_ai.prompt.7.content", "middle"],
    ["gen_ai.prompt.3.role", "system"],
    ["gen_ai.prompt.7.tool_calls.88888888.name", "f"],
    ["gen_ai.prompt.7.tool_calls.5.name", "e"],
    ["gen_ai.prompt.9999999999.content", "no position"],
    ["gen_ai.prompt.-1.content", "no position"],
    ["gen_ai.prompt.__proto__.content", "no position"],
    ["gen_ai.prompt.1.__proto__", "no field"],
    ["gen_ai.prompt.1.tool_calls.__proto__.name", "no position"],
    ["gen_ai.prompt.1.tool_calls.1.constructor", "no field"],
    ["gen_ai.prompt.1.__proto__.1.name", "no list"],
    ["gen_ai.prompt.", "no field"],
  ]);
  assertEquals(input, [
    { role: "system" },
    { role: "user", content: "middle", tool_calls: [{ name: "e" }, { name: "f" }] },
    { role: "user", content: "last" },
  ]);
});

Deno.test("fields of messages by OpenLLMetry and OpenInference are content, with tool calls and parts", () => {
  const traceloop: [string, string][] = [
    ["gen_ai.prompt.0.role", "system"],
    ["gen_ai.prompt.0.content", "Be brief."],
    ["gen_ai.prompt.2.role", "user"],
    ["gen_ai.prompt.2.content", '[{"type": "text", "text": "Where is my order?"}]'],
    ["gen_ai.prompt.3.role", "tool"],
    ["gen_ai.prompt.3.content", "{}"],
    ["gen_ai.prompt.3.tool_call_id", "c1"],
    ["gen_ai.prompt.name", "support"],
    ["gen_ai.completion.0.role", "assistant"],
    ["gen_ai.completion.0.tool_calls.0.id", "c2"],
    ["gen_ai.completion.0.tool_calls.0.name", "find_order"],
    ["gen_ai.completion.0.tool_calls.0.arguments", '{"id":7}'],
    ["gen_ai.completion.0.finish_reason", "tool_calls"],
    ["gen_ai.completion.0.other", "no part of a message"],
  ];
  const call = { id: "c2", name: "find_order", arguments: '{"id":7}' };
  const data = dataOf([...CALL, ...traceloop]);
  assertEquals(data.input, [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Where is my order?" }] },
    { role: "tool", content: "{}", tool_call_id: "c1" },
  ]);
  assertEquals(data.output, [{ role: "assistant", tool_calls: [call] }]);
  const { input, output, finish_reason } = dataOf([...CALL, ...traceloop], false);
  assertEquals([input, output, finish_reason], [undefined, undefined, "tool_calls"]);
  const answer = "llm.output_messages.0.message";
  const openInference: [string, string][] = [
    ["llm.input_messages.0.message.role", "user"],
    ["llm.input_messages.0.message.contents.0.message_content.type", "text"],
    ["llm.input_messages.0.message.contents.0.message_content.text", "Where is my order?"],
    [`${answer}.role`, "assistant"],
    [`${answer}.tool_calls.0.tool_call.id`, "c2"],
    [`${answer}.tool_calls.0.tool_call.function.name`, "find_order"],
    [`${answer}.tool_calls.0.tool_call.function.arguments`, '{"id":7}'],
  ];
  const other = dataOf([...CALL, ...openInference]);
  const asked = [{ role: "user", content: [{ type: "text", text: "Where is my order?" }] }];
  assertEquals([other.input, other.output], [asked, data.output]);
  assertEquals(dataOf([...CALL, ...openInference], false).input, undefined);
  const whole = '{"messages":[{"role":"user","content":"all of it"}]}';
  const both = dataOf([...openInference, ...CALL, ["input.value", whole]]);
  assertEquals([both.input, both.output], [JSON.parse(whole), data.output]);
  // A JSON text that is too long is cut, and then it is none.
  const cut = whole.replace("all of it", "x".repeat(ATTRIBUTE_CHARS_MAX));
  assertEquals(dataOf([...openInference, ...CALL, ["input.value", cut]]).input, asked);
  const prose = "x".repeat(ATTRIBUTE_CHARS_MAX + 1);
  const { input: ofProse } = dataOf([...openInference, ...CALL, ["input.value", prose]]);
  assertEquals(String(ofProse).length, ATTRIBUTE_CHARS_MAX);
});
