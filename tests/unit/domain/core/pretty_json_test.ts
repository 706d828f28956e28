/** JSON formatted for people: the original tokens with added white space. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type RawJson, rawOf } from "../../../../domain/core/raw_json.ts";
import { excerpt, excerptOfString, prettyJson } from "../../../../domain/core/pretty_json.ts";
import { anyText } from "../../../support/builders/any_text.ts";

const pretty = (text: string) => prettyJson(text as RawJson, 1_000_000).text;

Deno.test("numbers, escapes and key order are kept as sent", () => {
  const input = '{"b":12345678901234567890,"1":1.0,"0":1e400,"a":"\\u00e9\\n","a":-0.10}';
  assertEquals(
    pretty(input),
    [
      "{",
      '  "b": 12345678901234567890,',
      '  "1": 1.0,',
      '  "0": 1e400,',
      '  "a": "\\u00e9\\n",',
      '  "a": -0.10',
      "}",
    ].join("\n"),
  );
});

Deno.test("the sender's white space is replaced, except within strings", () => {
  assertEquals(
    pretty(' { "a" :\n[ 1 ,{ } , [ ] , " x : , [ " ]\t} '),
    [
      "{",
      '  "a": [',
      "    1,",
      "    {},",
      "    [],",
      '    " x : , [ "',
      "  ]",
      "}",
    ].join("\n"),
  );
});

Deno.test("any value is formatted as JSON.stringify would, token by token", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
    assertEquals(pretty(JSON.stringify(value)), JSON.stringify(value, null, 2));
  }));
});

Deno.test("only the beginning of a long text is written", () => {
  const list = rawOf(Array.from({ length: 100_000 }, (_, i) => i));
  const { text, isCut } = prettyJson(list, 100);
  assertEquals([text.length, isCut], [100, true]);
  assert(text.startsWith("[\n  0,\n  1,\n"));
  assertEquals(prettyJson(rawOf({ a: 1 }), 12), { text: '{\n  "a": 1\n}', isCut: false });
  assertEquals(prettyJson(rawOf("x".repeat(50)), 10).text, `"${"x".repeat(9)}`);
});

Deno.test("a string is cut by its decoded text, wherever its escapes fall", () => {
  fc.assert(fc.property(anyText({ maxLength: 60 }), fc.nat(20), (text, max) => {
    const escaped = [...text].map((each) =>
      `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`
    );
    const forms = [
      rawOf(text),
      text.length === escaped.length ? `"${escaped.join("")}"` : rawOf(text),
    ];
    for (const form of forms) {
      const { text: shown, isCut } = excerptOfString(form as RawJson, max);
      assert(text.startsWith(shown));
      assert(shown.length <= max && (isCut ? shown.length >= max - 1 : shown === text));
    }
  }));
  const slashes = rawOf("\\".repeat(100));
  for (let max = 1; max < 20; max++) {
    assertEquals(excerptOfString(slashes, max), { text: "\\".repeat(max), isCut: true });
  }
});

Deno.test("a cut never splits a surrogate pair", () => {
  assertEquals(excerpt("ab\u{1F600}c", 3), { text: "ab", isCut: true });
  assertEquals(excerpt("ab\u{1F600}", 4), { text: "ab\u{1F600}", isCut: false });
});
