/** OTLP bodies: both encodings give the same spans, and broken ones none. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { PbfWriter } from "pbf";
import { ATTRIBUTE_CHARS_MAX, checkSpans, SPAN_ATTRIBUTES_MAX } from "../../../domain/otlp/span.ts";
import { readJson } from "../../../routes/otlp/json.ts";
import {
  MalformedBody,
  readProtobuf,
  SPANS_MAX,
  TooManySpans,
} from "../../../routes/otlp/protobuf.ts";
import { recordedExports } from "../../support/builders/spans.ts";
import { complete } from "../../../domain/core/steps.ts";

function fromJson(text: string, isRead: (key: string) => boolean) {
  return complete(readJson(text, isRead));
}

function read(bytes: Uint8Array, isRead: (key: string) => boolean) {
  return complete(readProtobuf(bytes, isRead));
}

const all = () => true;

const TRACE = "0af7651916cd43dd8448eb211c80319c", SPAN = "b7ad6b7169203331";

interface WireSpan {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly startNs?: number;
  readonly attributes?: Readonly<Record<string, string>>;
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
        for (const [key, value] of Object.entries(attributes)) {
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
  assertThrows(() => read(spans, all), TooManySpans);
  // The rest is no message: it would be refused as malformed if it were read.
  const broken = new Uint8Array([...spans, 0xff, 0xff]);
  assertThrows(() => read(broken, all), TooManySpans);
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
