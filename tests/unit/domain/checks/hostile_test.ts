import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { compile } from "../../../../domain/checks/compile.ts";
import { type AllFacts, STEPS_MAX } from "../../../../domain/checks/program.ts";
import { FACTS, judged } from "../../../support/builders/check_facts.ts";
import { measure } from "../../../../domain/checks/language/sizes.ts";
import { PATTERNS } from "../../../support/builders/patterns.ts";
import { cpuMsOf } from "../../../support/oracles/durations.ts";
import { problemOf } from "../../../support/oracles/problems.ts";
import { anyText } from "../../../support/builders/any_text.ts";

/** Milliseconds of the processor that a definition may take; 5 times the bound, for a slow one. */
const CPU_MS_MAX = 5 * 50;

const deep = nested(100_000);
const keys = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, i]));

/** Facts that are as large as a run can be, and larger. */
const HOSTILE: AllFacts = {
  ...FACTS,
  duration_ms: null,
  goal: "ab c\n,é1z漢😀".repeat(50_000),
  metadata: { ...keys, text: "aA".repeat(250_000), constructor: 1 },
  output: {
    answer: "a".repeat(1_000_000),
    part: `${"a".repeat(250_000)}b${"a".repeat(250_000)}`,
    same: "a".repeat(1_000_000),
    mixed: "éAbB ".repeat(100_000),
    items: Array.from({ length: 20_000 }, (_, i) => i),
    others: Array.from({ length: 20_000 }, (_, i) => i),
    texts: Array.from({ length: 1_000 }, () => "x".repeat(1_000)),
    keys,
    deep,
    deeper: nested(100_000),
  },
  tools: Array.from({ length: 200 }, (_, i) => ({
    name: `tool-${i}`,
    error: "e".repeat(500),
    latency_ms: null,
    input: { items: Array.from({ length: 200 }, () => "y".repeat(100)), deep: nested(1_000) },
  })),
  calls: Array.from({ length: 200 }, () => ({ ...callOf(), model: "m".repeat(200) })),
};

function callOf() {
  const [call] = FACTS.calls;
  if (call === undefined) throw new Error("The facts have a call");
  return call;
}

function nested(levels: number): unknown {
  let value: unknown = [];
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

const text = fc.constantFrom(
  "goal",
  "metadata.text",
  "output.answer",
  "output.part",
  "output.same",
  "output.mixed",
  "tools[3].error",
  "item.name",
  "(output.answer + output.part)",
  "goal.lowerAscii()",
  "metadata.text.upperAscii()",
  "'" + "x".repeat(60) + "'",
  "string(output.items[5])",
);

const list = fc.constantFrom(
  "tools",
  "calls",
  "output.items",
  "output.texts",
  "output.keys",
  "metadata",
  "output.deep",
  "tools.map(t, t.input.items)",
  "tools.filter(t, t.latency_ms < 5 || true)",
  "(output.items + output.others)",
  "output.missing",
  "['a', 'b'] + ['c']",
);

const pattern = fc.constantFrom(
  "(.*a){20}",
  "[ab]*a[ab]{900}$",
  "(?:[ab]*a[ab]{30}){20}c",
  "(?i)(?:.*é){20}z",
  "(?:x?){1000}(?:x?){1000}(?:x?){1000}",
  "((a{30}){30}){30}",
  r`(?:\\b.*\\B.){50}z`,
  r`(?i)[\\p{L}]{900}`,
  r`[^\\x00-\\x{10FFFF}]`,
  "(?s)(?:.?){900}ZZ",
  "(a|aa)+$",
  "aaaaaaaaab",
  "(((((((((((a*)*)*)*)*)*)*)*)*)*)*)*$",
);

const { expression } = fc.letrec<{ expression: string; test: string; value: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: "large" },
    tie("test"),
    fc.tuple(tie("test"), fc.constantFrom("&&", "||"), tie("expression"))
      .map(([left, op, right]) => `${left} ${op} ${right}`),
    tie("expression").map((inner) => `!(${inner})`),
    fc.tuple(list, fc.constantFrom("all", "exists", "exists_one"), tie("expression"))
      .map(([items, loop, inner]) => `${items}.${loop}(item, ${inner})`),
    fc.tuple(list, tie("expression"))
      .map(([items, inner]) => `${items}.filter(item, ${inner}).map(item, [item]) == [1]`),
    fc.tuple(list, tie("value")).map(([items, value]) => `${value} in ${items}`),
    fc.integer({ min: 2, max: 30 }).map((levels) => `${"[".repeat(levels)}1${"]".repeat(levels)}`),
    fc.integer({ min: 10, max: 990 }).map((signs) => `${"!".repeat(signs)}true`),
    fc.integer({ min: 10, max: 490 }).map((terms) => `${"1+".repeat(terms)}1 > 0`),
    anyText({ maxLength: 200 }),
  ),
  test: fc.oneof(
    fc.tuple(text, fc.constantFrom("contains", "startsWith", "endsWith"), text)
      .map(([whole, name, part]) => `${whole}.${name}(${part})`),
    fc.tuple(text, fc.constantFrom("==", "!=", "<", ">="), text).map((parts) => parts.join(" ")),
    fc.tuple(text, pattern).map(([whole, source]) => `finds(${whole}, '${source}')`),
    fc.tuple(list, fc.constantFrom("==", "!="), list).map((parts) => parts.join(" ")),
    fc.constantFrom(
      "output.deep == output.deeper",
      "output.items == output.others",
      "output[goal]",
    ),
    fc.tuple(text, fc.constantFrom("words", "size"))
      .map(([whole, name]) => `${name}(${whole}) > 1`),
    fc.constantFrom("tools[9].input.deep == tools[8].input.deep", "size(output.keys) == item"),
  ),
  value: fc.oneof(text, fc.constantFrom("1", "item", "null", "output.deep", "{'a': [goal]}")),
}));

Deno.test("hostile: no definition holds the event loop, throws, or is decided in two ways", () => {
  let [compiling, judging, longest, accepted] = [0, 0, "", 0];
  const check = (source: string) => {
    let program = compile("true", PATTERNS);
    let field: string | undefined;
    compiling = Math.max(
      compiling,
      cpuMsOf(() => field = problemOf(() => program = compile(source, PATTERNS))?.field),
    );
    if (field !== undefined) {
      assertEquals<string>(field, "expression");
      return;
    }
    accepted++;
    let verdict = program.judge(FACTS);
    const ms = cpuMsOf(() => verdict = program.judge(HOSTILE));
    if (ms > judging) [judging, longest] = [ms, source];
    assert(verdict.got.length <= 400, "200 characters of 2 units");
    assertEquals(program.judge(HOSTILE), verdict);
    const steps = program.stepsFor(measure(HOSTILE));
    assert(steps > 0 && steps <= STEPS_MAX, source);
  };
  fc.assert(fc.property(expression, check), { numRuns: 400, seed: 61 });
  assert(compiling < CPU_MS_MAX, `compiling takes ${compiling} ms`);
  assert(judging < CPU_MS_MAX, `${longest} takes ${judging} ms`);
  assert(accepted > 80, `only ${accepted} are accepted`);
});

Deno.test("hostile: too much work and too much text are errors, which nothing makes up for", () => {
  const reasons: readonly (readonly [string, string])[] = [
    ["output.items.all(a, output.others.all(b, a - b < 99999))", "too_much_work"],
    ["output.items.all(a, output.others.all(b, a - b < 99999)) || true", "too_much_work"],
    ["output.answer.contains(output.part) || true", "too_much_work"],
    ["goal.lowerAscii() == goal || true", "too_much_work"],
    ["output.texts.exists(x, words(x + goal) > 0 && false)", "too_much_work"],
    ["output.deep == output.deeper || true", "too_much_work"],
    // Its work is small for the lists that are assumed when it is stored.
    [
      "output.items.filter(i, output.items == output.items.map(k, k)).size() >= 0",
      "too_much_work",
    ],
    ["finds(output.answer, '(.*a){20}b') || true", "too_much_text"],
    ["tools.exists(t, finds(goal, 'a+b')) || true", "too_much_text"],
  ];
  for (const [source, reason] of reasons) {
    const { status, reason: actual } = judged(source, HOSTILE);
    assertEquals([source, status, actual], [source, "error", reason]);
  }
});

function r({ raw }: TemplateStringsArray): string {
  return raw.join("");
}
