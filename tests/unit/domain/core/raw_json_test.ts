import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  charCount,
  exceedsBytes,
  isKey,
  isObject,
  nestsDeeperThan,
  rawElements,
  rawMembers,
  rawOf,
  utf8Bytes,
  writeObject,
} from "../../../../domain/core/raw_json.ts";
import { anyText } from "../../../support/builders/any_text.ts";

/** Any JSON text, with white space and escapes as senders write them. */
const space = fc.constantFrom("", "", " ", "\n", "\t ", "\r\n");
const text = fc.oneof(
  anyText(),
  fc.constantFrom('"', "\\", '\\"', "}", "],", ""),
);
const string = text.map((value) => JSON.stringify(value));
const escaped = text.map(unicodeEscaped);
const plain = fc.constantFrom(
  "null",
  "true",
  "false",
  "0",
  "-0",
  "1.0",
  "1e999",
  "-2.5E-3",
  "9007199254740993",
  "12345678901234567890",
);
/**
 * Keys without a backslash: once this runtime's JSON.parse has seen a key such as "\\", it reads an
 * escaped key at the same position of a similar object as that key. The scanners must not copy this.
 */
const key = fc.oneof(
  text.filter((value) => !value.includes("\\")).chain((value) =>
    fc.constantFrom(JSON.stringify(value), unicodeEscaped(value))
  ),
  fc.integer({ min: 0, max: 20 }).map((value) => `"${value}"`),
);
const { json, list, map } = fc.letrec<{ json: string; list: string; map: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    plain,
    string,
    escaped,
    tie("list"),
    tie("map"),
  ),
  list: fc.tuple(space, fc.array(tie("json"), { maxLength: 5 }), space)
    .map(([a, items, b]) => `${a}[${a}${items.join(`${b},${a}`)}${b}]${b}`),
  map: fc.tuple(
    space,
    fc.array(fc.tuple(key, tie("json")), { maxLength: 5 }),
    space,
  ).map(([a, members, b]) =>
    `${a}{${a}${
      members.map(([key, value]) => `${key}${b}:${a}${value}`).join(`${b},${a}`)
    }${b}}${b}`
  ),
}));

function unicodeEscaped(value: string): string {
  const units = Array.from({ length: value.length }, (_, i) => value.charCodeAt(i));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("")}"`;
}

Deno.test("the member scanner finds the same members as JSON.parse", () => {
  fc.assert(fc.property(map, (object) => {
    const members = rawMembers(object);
    const parsed = JSON.parse(object);
    assertEquals(new Set(members.keys()), new Set(Object.keys(parsed)));
    for (const [key, raw] of members) {
      const own = Object.getOwnPropertyDescriptor(parsed, key)?.value;
      assertEquals(JSON.parse(raw), own, key);
    }
  }));
});

Deno.test("the element scanner finds the same elements as JSON.parse", () => {
  fc.assert(fc.property(list, (array) => {
    assertEquals(rawElements(array).map((raw) => JSON.parse(raw)), JSON.parse(array));
  }));
});

/** Objects as text, and their members as the scanner has them. */
const MEMBERS: Record<string, readonly [object: string, members: readonly string[][]]> = {
  "a slice is the sender's own text, without surrounding white space": [
    ' { "a" : 1.0 , "b":12345678901234567890,"c": { "z" : 1, "a":2 } } ',
    [["a", "1.0"], ["b", "12345678901234567890"], ["c", '{ "z" : 1, "a":2 }']],
  ],
  "keys that look like integers keep their sent order": [
    '{"b":1,"2":2,"1":3}',
    [["b", "1"], ["2", "2"], ["1", "3"]],
  ],
  "a repeated key keeps its first position and its last value, however it is escaped": [
    '{"a":1,"b":2,"\\u0061":3}',
    [["a", "3"], ["b", "2"]],
  ],
  "a key with backslashes and quotes is decoded as JSON defines": [
    '{"\\\\":1,"\\u005c\\"":2,"a\\\\":3,"\\n":4}',
    [["\\", "1"], ['\\"', "2"], ["a\\", "3"], ["\n", "4"]],
  ],
  "the name of an inherited property is an ordinary key": [
    '{"__proto__":{"x":1},"constructor":2}',
    [["__proto__", '{"x":1}'], ["constructor", "2"]],
  ],
};

for (const [name, [object, members]] of Object.entries(MEMBERS)) {
  Deno.test(`the member scanner: ${name}`, () => {
    assertEquals<unknown>([...rawMembers(object)], members);
  });
}

Deno.test("comparing a key in place agrees with JSON.parse", () => {
  const names = fc.oneof(fc.constantFrom("data", "events", "", "a"), text);
  const spelled = fc.oneof(names, fc.constant("data")).chain((value) =>
    fc.tuple(fc.constant(value), fc.constantFrom(JSON.stringify(value), unicodeEscaped(value)))
  );
  fc.assert(fc.property(spelled, names, space, ([value, key], name, before) => {
    const object = `${before}${key}:1`;
    const [start, end] = [before.length, before.length + key.length];
    assertEquals(isKey(object, start, end, name), value === name);
    assert(isKey(object, start, end, value));
  }));
});

Deno.test("an object written from slices parses to the original object", () => {
  fc.assert(fc.property(map, (object) => {
    assertEquals(JSON.parse(writeObject(rawMembers(object))), JSON.parse(object));
  }));
});

Deno.test("members without a value are left out; a value is written as JSON", () => {
  assertEquals(
    writeObject([["a", rawOf("x")], ["b", undefined], ["c", rawOf(null)]]),
    '{"a":"x","c":null}',
  );
});

Deno.test("decision 11: depth counts JSON nesting and ignores brackets in strings", () => {
  fc.assert(fc.property(json, fc.integer({ min: 0, max: 8 }), (value, max) => {
    const parsed: unknown = JSON.parse(value);
    const deeper = depthOf(parsed) > max;
    assertEquals(nestsDeeperThan(JSON.stringify(parsed), max), deeper);
    // The sent text may nest deeper: parsing drops the first value of a repeated key.
    if (deeper) assert(nestsDeeperThan(value, max));
  }));
  assert(nestsDeeperThan('{"a":[],"a":null}', 1));
});

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((max, item) => Math.max(max, depthOf(item)), 0);
}

Deno.test("decision 11: measuring the depth of any text, however broken, never throws", () => {
  fc.assert(fc.property(anyText({ maxLength: 40 }), (broken) => {
    assertEquals(typeof nestsDeeperThan(broken, 3), "boolean");
  }));
  assert(nestsDeeperThan("[".repeat(1_000_000), 64));
  assert(!nestsDeeperThan("[".repeat(64), 64));
  assert(!nestsDeeperThan(`"${"[".repeat(100)}`, 64));
});

Deno.test("decision 11: sizes are counted in UTF-8 bytes", () => {
  const sized = fc.tuple(anyText({ maxLength: 30 }), fc.nat({ max: 90 }));
  fc.assert(fc.property(sized, ([value, max]) => {
    assertEquals(exceedsBytes(value, max), new TextEncoder().encode(value).length > max);
  }));
});

Deno.test("the UTF-8 size of a text equals the size of its encoding", () => {
  fc.assert(fc.property(anyText(), (text) => {
    assertEquals(utf8Bytes(text), new TextEncoder().encode(text).length);
  }));
});

Deno.test("characters are code points: an emoji counts once", () => {
  assertEquals([charCount(""), charCount("abc"), charCount("a😀é")], [0, 3, 3]);
});

Deno.test("arrays and null are not objects", () => {
  assertEquals([{}, [], null, "{}", 1, undefined].map(isObject), [
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});
