import { assertEquals, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { RE2JS } from "re2js";
import { compile } from "../../../../domain/checks/compile.ts";
import { compiled, refusalOf } from "../../../support/builders/check_facts.ts";
import { PATTERNS } from "../../../support/builders/patterns.ts";
import { problemOf } from "../../../support/oracles/problems.ts";

const REFUSED: readonly (readonly [expression: string, at: number, words: string])[] = [
  ["", 1, "It is empty"],
  ["1 +", 4, "It ends too early"],
  ["stats == 'x'", 1, 'Unknown name "stats". Did you mean "status"?'],
  ["cost_usd < 1 && statsu == 'x'", 17, 'Did you mean "status"?'],
  ["'😀' == goal && stats == 'x'", 16, 'Unknown name "stats"'],
  ["usage.eror == 1", 7, 'Unknown field "eror". Did you mean "errors"?'],
  ["tools.all(tool, tool.nme == 'x')", 22, 'Did you mean "name"?'],
  ["status.matches('a')", 1, 'Unknown function "matches". Write finds(text, pattern)'],
  ["status.split('a') == ['a']", 1, 'Unknown function "split"'],
  ["status.startWith('a')", 1, 'Did you mean "startsWith"?'],
  ["status.trim() == 'a'", 1, 'Unknown function "trim"'],
  ["status.indexOf('a') == 1", 1, 'Unknown function "indexOf"'],
  ["['a'].join() == 'a'", 1, 'Unknown function "join"'],
  ["timestamp('2026-01-01T00:00:00Z') == timestamp(1)", 1, 'Unknown function "timestamp"'],
  ["duration('1s') == duration('1s')", 1, 'Unknown function "duration"'],
  ["bytes('a') == b'a'", 1, 'Unknown function "bytes"'],
  ["b'a' == b'a'", 1, "Bytes and unsigned numbers are not allowed"],
  ["type(1) == int", 1, 'Unknown function "type"'],
  ["cel.bind(x, 1, x == 1)", 1, 'Unknown function "bind"'],
  ["dyn(1) == 1", 1, 'Unknown function "dyn"'],
  ["constructor == 1", 1, 'Unknown name "constructor"'],
  ["usage.errors", 1, "It must be true or false, it is a number. Compare it"],
  ["status", 1, "It must be true or false, it is text"],
  ["status == 3", 1, '"==" cannot take text and a number'],
  ["!status", 1, '"!" cannot take text'],
  ["status && true", 1, '"&&" and "||" cannot take text'],
  ["true ? 1 : 'a'", 1, "must have the same type, got a number and text"],
  ["status = 'x'", 8, "Write =="],
  ["status == 'x", 11, "A text has no end"],
  ["has(status)", 5, "has() takes names and fields only. Write has(output.answer)"],
  ["tools.all(tool, has(tool.nme))", 26, 'Did you mean "name"?'],
  ["has(status.x)", 5, '"status" has no fields'],
  ["finds(status)", 1, '"finds" cannot be used like this. Write finds(text, pattern)'],
  ["finds(status, goal)", 15, "The pattern must be a text in quotes"],
  ["finds(goal, '\\d')", 14, "Write a pattern as r'…', or each backslash twice"],
  ["finds(goal, '(?=a)')", 13, "invalid or unsupported Perl syntax: `(?=`"],
  ["finds(goal, '(?<=a)b')", 13, "Look-around and back references are not available"],
  ["finds(goal, '(a')", 13, "missing closing )"],
  ["99999999999999999999 == 1", 1, "is too large"],
  ["9007199254740993 == 1", 1, "is too large"],
  ["{1: 2} == {1: 2}", 2, "A key must be a text in quotes"],
  ["[[[[1]]]] == [[[[1]]]]", 4, "nest deeper than 3 levels"],
  ["google == 1", 1, ""],
  ["finds(goal, r'(?i)[b-😀]')", 13, "A range cannot end outside of ASCII with (?i)"],
  ["finds(goal, r'(?i)[b-\\x{1e942}]')", 13, "A range cannot end outside of ASCII with (?i)"],
  ["finds(goal, r'\\pL\\pL\\pL\\pL\\pL')", 13, "more than 4 classes such as \\p{L}"],
  ["constructor(1)", 1, 'Unknown function "constructor". Known: '],
  ["output.valueOf()", 1, 'Unknown function "valueOf". Known: '],
  ["has()", 1, "has() takes names and fields only. Write has(output.answer)"],
  ["tools.all('t', true)", 11, "A loop begins with the name of its item"],
  ["goal == '🎉' && 😀", 16, "😀"],
  ["{'a': 1} == {'a': 1.5}", 1, '"==" cannot take an object and an object'],
  ["!metadata", 1, '"!" cannot take an object'],
  ["'a' in goal", 1, '"in" cannot take text and text. Write a list, such as'],
  ["usage.(errors)", 7, '"(" is not expected here. Write a name here'],
  ["(cost_usd < 1", 14, 'It ends too early. Write ")" here'],
  ["[1, 2", 6, 'It ends too early. Write "]" here'],
  ["true ? true", 12, 'It ends too early. Write ":" here'],
  ["cost_usd < 1)", 13, '")" is not expected here'],
  ["cost_usd < 1 AND true", 14, '"AND" is not expected here. Write &&'],
  ["cost_usd < 1 | true", 14, '"|" is not expected here. Write ||'],
  ["not true", 5, '"true" is not expected here. Write ! for not'],
  ["cost_usd === 1", 12, "Write =="],
  ["cost_usd <> 1", 11, "Write !="],
  ["status == “success”", 11, "Write straight quotes"],
  ["cost_usd < 1 usage.errors == 0", 14, '"usage" is not expected here'],
  ["if (true) true", 1, '"if" is a reserved word. Write condition ? a : b'],
  ["tools.all(1, true)", 11, "A loop begins with the name of its item"],
  ['status in "abc"', 1, "Write a list, such as status in"],
];

Deno.test("refusals: each says what is wrong, where, and what to write instead", () => {
  for (const [expression, at, words] of REFUSED) {
    const message = refusalOf(expression);
    assertStringIncludes(`${expression} ${message}`, words);
    assertStringIncludes(message, `Field "expression" is wrong at character ${at}: `, expression);
  }
});

Deno.test("refusals: none names a token of the parser", () => {
  const parts = [
    "cost_usd",
    "<",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ",",
    ":",
    "?",
    "1",
    "'a'",
    "in",
  ];
  for (const a of parts) {
    for (const b of parts) {
      for (const c of parts) {
        const message = problemOf(() => compile(`${a} ${b} ${c}`, PATTERNS))?.message ?? "";
        assertEquals(/[A-Z]{3}|token|undefined/.exec(message)?.[0], undefined, message);
      }
    }
  }
});

Deno.test("refusals: the field and the code are those of other bodies", () => {
  const problem = problemOf(() => compile("stats == 1", PATTERNS));
  assertEquals([problem?.code, problem?.field], ["invalid_field", "expression"]);
});

Deno.test("refusals: the bounds of an expression", () => {
  const long = (chars: number) => `goal == '${"😀".repeat(chars - 10)}'`;
  compiled(long(1_000));
  assertStringIncludes(refusalOf(long(1_001)), "It has 1001 characters, and 1000 are allowed");
  const sum = (terms: number) => `${Array(terms).fill("1").join("+")} > 0`;
  compiled(sum(99));
  assertStringIncludes(refusalOf(sum(101)), "It has more than 200 parts");
  compiled(`${"(".repeat(15)}true${")".repeat(15)}`);
  assertStringIncludes(
    refusalOf(`${"(".repeat(16)}true${")".repeat(16)}`),
    "It nests deeper than 16 levels",
  );
  compiled("tools.all(a, tools.all(b, a.name == b.name))");
  assertStringIncludes(
    refusalOf("tools.all(a, [1].all(b, [1].all(c, true)))"),
    'Loops such as "all" nest deeper than 2 levels',
  );
});

Deno.test("refusals: an expression whose work over full lists is too much", () => {
  assertStringIncludes(
    refusalOf("tools.all(a, calls.all(b, a.name + b.model + a.error != b.error + a.name + goal))"),
    "It takes more than 100000 steps for a run with 200 tool calls",
  );
});

Deno.test("refusals: patterns that would take long to compile, before they are compiled", () => {
  const patterns = ["(?:x?){1000}".repeat(60), "((a{50}){50}){50}", "((a|b){1,1000}c){1000}"];
  for (const pattern of patterns) {
    using _never = stub(RE2JS, "compile", () => {
      throw new Error("it was compiled");
    });
    assertStringIncludes(refusalOf(`finds(goal, '${pattern}')`), "more than 2000 steps");
  }
  const fine = ["a{1000}", r`\\x{2028}{2}`, "[[:alpha:]]{3,5}", "[]a]{2}", r`\\Q(a{9}\\E{100}`];
  for (const pattern of fine) compiled(`finds(goal, '${pattern}')`);
});

function r({ raw }: TemplateStringsArray): string {
  return raw.join("");
}
