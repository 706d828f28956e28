/**
 * Bodies that are too large or too deep to be parsed in one piece: which values are read, and that
 * the complete text is checked (R7, R10).
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseFinish } from "../../../../domain/ingest/finish.ts";
import { type LargeShape, parseLarge } from "../../../../domain/ingest/large_body.ts";
import { parseLargeEvents } from "../../../../domain/ingest/parse_events.ts";
import {
  BATCH_STRUCTURE_MAX,
  EVENT_BYTES_MAX,
  EVENTS_PER_BATCH_MAX,
  SCORE_NAME_CHARS_MAX,
  SCORES_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../../../../domain/core/limits.ts";
import { aFinish, anEvent } from "../../../support/builders/requests.ts";
import { problemOfAsync } from "../../../support/oracles/problems.ts";

const encoder = new TextEncoder();

const CONTEXT = { metadataKeysMax: 10, sdkWords: false };

/** Reads a body as a large one. */
function read(text: string, shape: LargeShape) {
  return parseLarge(encoder.encode(text), text, shape, () => null);
}

/** Returns why a text is refused; null if it is an object. */
async function refusal(text: string, shape: LargeShape = "fields") {
  return (await problemOfAsync(read(text, shape)))?.code ?? null;
}

/** Returns an object as text, with one more member written by hand. */
function withMember(fields: object, member: string): string {
  return `${JSON.stringify(fields).slice(0, -1)},${member}}`;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

Deno.test("R10: exactly what JSON.parse accepts is accepted", async () => {
  const parts = '{}[],:"\\ \t\n01-+.eEaxu/tfn😀'.split("").concat([
    "true",
    "false",
    "null",
    '"a":',
    "\\u00e9",
    "\u0001",
  ]);
  const junk = fc.array(fc.constantFrom(...parts), { maxLength: 8 }).map((some) => some.join(""));
  const edited = fc.tuple(fc.json(), fc.nat(), fc.constantFrom("", ...parts), fc.nat(3))
    .map(([text, at, put, gone]) => {
      const position = at % (text.length + 1);
      return (text.slice(0, position) + put + text.slice(position + gone)).toWellFormed();
    });
  // Elements in a row, of a list or by mistake of an object, are judged apart from the rest.
  const lists = fc.tuple(
    fc.constantFrom("[", "{", '{"a":', '{"a":1,', "[[1],"),
    fc.array(fc.constantFrom("1", '"x"', "null", " ", "", "01", "[]", '"b":2'), { maxLength: 6 }),
    fc.constantFrom("]", "}", ",]", ",[2]]", ',"c":3}'),
  ).map(([start, items, end]) => start + items.join() + end);
  const texts = fc.oneof(fc.json(), junk, edited, lists);
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      // Any value is a member of an object here, because only an object is a body.
      const refused = await refusal(`{"a": ${text}}`);
      assertEquals(refused, parses(`{"a": ${text}}`) ? null : "invalid_json", text);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("R10: a large batch has a bound on its structure, and a smaller one has none", async () => {
  // The members "x" and "events" have three characters in all, and the list has one.
  const batch = (count: number, more = "") =>
    `{"x":["[{:",${"{},".repeat(count - 5)}1],"events":[]${more}}`;
  const large = `,"y":"${"x".repeat(WHOLE_BODY_BYTES_MAX)}"`;
  const most = BATCH_STRUCTURE_MAX - 1;
  assertEquals(await refusal(batch(most, large), "events"), null);
  assertEquals(await refusal(batch(most + 1, large), "events"), "payload_too_large");
  assertEquals(await refusal(batch(most + 1, large), "fields"), null);
  const dense = `{"x":${"[".repeat(BATCH_STRUCTURE_MAX)}${"]".repeat(BATCH_STRUCTURE_MAX)}}`;
  assert(dense.length < WHOLE_BODY_BYTES_MAX);
  assertEquals(await refusal(dense, "events"), null);
});

Deno.test("R10: nesting does not use the stack", async () => {
  const depth = 400_000;
  assertEquals(await refusal(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`), null);
  assertEquals(await refusal('{"a":['.repeat(depth / 2) + "]}".repeat(depth / 2)), null);
  assertEquals(await refusal('{"a":['.repeat(depth / 2) + "}]".repeat(depth / 2)), "invalid_json");
});

Deno.test("R10: each known field is read; of a repeated field the last one counts", async () => {
  const large = `[${"1,".repeat(1_000)}1]`;
  const body = await read(
    ` {"id":1,"output":${large},"x":{"id":2},"\\u0069d":"b","metadata":{"2":1,"1":[]},` +
      `"goal":null,"feature":{"a":${large}},"agent":{"b":[1]}}`,
    "fields",
  );
  assertEquals(body.value, {
    id: "b",
    output: [0],
    x: null,
    metadata: { 2: 1, 1: [] },
    goal: null,
    feature: {},
    agent: { b: [1] },
  });
});

Deno.test("R6, R10: of scores that are too large or too deep only the bad ones are lost", async () => {
  const of = async (scores: string) => {
    const body = await read(withMember(aFinish(), `"scores":${scores}`), "fields");
    const parsed = parseFinish(body, CONTEXT);
    return [parsed.request.scores, parsed.losses?.dropped];
  };
  const deep = "[".repeat(65) + "]".repeat(65);
  const long = `"${"x".repeat(EVENT_BYTES_MAX)}"`;
  assertEquals(await of(`{"b":1.0,"a":${deep},"1":false}`), [[["b", 1], ["1", false]], "scores=1"]);
  assertEquals(await of(`{"b":1,${long}:1,"":1,"c":1e999,"d":null}`), [[["b", 1]], "scores=4"]);
  assertEquals(await of(`{"a":1,"b":${long},"a":2,"c":3,"c":"x"}`), [[["a", 2]], "scores=2"]);
  assertEquals(await of(`{"a":1${" ".repeat(EVENT_BYTES_MAX)}}`), [[["a", 1]], undefined]);
  assertEquals(await of(`{"a":${deep},"scores":1}`), [[["scores", 1]], "scores=1"]);
  assertEquals(await of(`[${"1,".repeat(EVENT_BYTES_MAX)}1]`), [undefined, "scores=1"]);
  const name = "\\ud83d\\ude00".repeat(SCORE_NAME_CHARS_MAX);
  const decoded = "😀".repeat(SCORE_NAME_CHARS_MAX);
  assertEquals(await of(`{"${name}":1,"a":${deep}}`), [[[decoded, 1]], "scores=1"]);
  const many = Array.from({ length: 50_000 }, (_, n) => [`n${n}`, n] as const);
  assertEquals(await of(JSON.stringify(Object.fromEntries(many))), [
    many.slice(0, SCORES_MAX),
    `scores=${50_000 - SCORES_MAX}`,
  ]);
  // The last of repeated scores counts.
  assertEquals(await of(`{"a":${deep},"b":1},"scores":{"c":2}`), [[["c", 2]], undefined]);
});

Deno.test("R10: names of unknown fields are kept for the report, up to a limit", async () => {
  const body = await read(`{${'"__proto__":1,"a":[1],'.repeat(2)}"id":3}`, "fields");
  assertEquals([Object.keys(body.value), body.value.id], [["__proto__", "a", "id"], 3]);
  const many = Array.from({ length: 5_000 }, (_, n) => `"name${n}":[${n}]`).join();
  for (const [shape, last] of [["fields", "id"], ["events", "events"]] as const) {
    const { value } = await read(`{${many},"${last}":null}`, shape);
    assertEquals([Object.keys(value).length, value[last]], [33, null]);
  }
});

Deno.test("R10: a body that is not a JSON object is refused, wherever that shows", async () => {
  const wrong = ["", " ", "[]", "null", "{", '{"a":1', '{"a":1}}', '{"a":1} x', '{"a"1}', "{a:1}"];
  wrong.push('{"a":[1,]}', '{"a":1,}', '{"a":[}', '{"output":{"a":tru}}', '{"x":"\u0001"}');
  wrong.push('{"events":[{"data":{"a":01}}]}', '{"a":\u00a01}', '{"a":"\\ "}');
  wrong.push('{"a":[1,\ufeff2,3]}');
  for (const text of wrong) assertEquals(await refusal(text), "invalid_json", text);
});

Deno.test("R10: a batch is read as the texts of its events", async () => {
  const { events } = await read(
    '{"events":[7],"x":1, "ev\\u0065nts" : [ {"a":1.0} ,{},3 ] }',
    "events",
  );
  assertEquals(events, ['{"a":1.0}', "{}", "3"]);
  assertEquals((await read('{"events":[{}],"events":null}', "events")).events, undefined);
  assertEquals((await read('{"events":{}}', "events")).value, { events: {} });
  const codeOf = async (count: number) => {
    const all = Array.from({ length: count }, (_, n) => JSON.stringify(anEvent(n)));
    const body = await read(`{"events":[${all}]}`, "events");
    const parsed = parseLargeEvents(body, body.events ?? [], () => null);
    return (await problemOfAsync(parsed))?.code ?? (await parsed).request.length;
  };
  assertEquals(await codeOf(EVENTS_PER_BATCH_MAX), EVENTS_PER_BATCH_MAX);
  assertEquals(await codeOf(EVENTS_PER_BATCH_MAX + 1), "batch_too_large");
});
