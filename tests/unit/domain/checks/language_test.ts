import { assert, assertEquals, assertMatch } from "@std/assert";
import { compiled, FACTS, judged } from "../../../support/builders/check_facts.ts";
import { measure } from "../../../../domain/checks/language/sizes.ts";

const PASSES = [
  "cost_usd < 0.5 && usage.errors == 1",
  "cost_usd < 1 && 1 > cost_usd",
  "usage.errors / usage.events < 0.5",
  "usage.errors / usage.events == 0.2",
  "usage.input_tokens % 7 == 3",
  "cost_usd + usage.errors > 1.2",
  "-cost_usd < 0 && !(status == 'failed')",
  "output.count == 42 && output.count == 42.0",
  "output.count + 1 == 43 && 2 * output.count == 84",
  "3 / 2 == 1.5",
  "1 in [1.0] && 1.5 in [1, 1.5] && usage.errors in [0, 1]",
  "'x' in output.items && !(3 in output.items)",
  "'env' in metadata && metadata.env == 'prod' && metadata['tries'] == 2",
  "output['answer'].startsWith('yes')",
  "output.answer.endsWith('way') && output.answer.contains('#42')",
  "status.upperAscii() == 'SUCCESS' && 'ÄB'.lowerAscii() == 'Äb'",
  "size(output.items) == 3 && output.items.size() == 3 && size(metadata) == 2",
  "size('añ😀') == 3 && size('') == 0",
  "output.items[size(output.items) - 1] == 'x'",
  "has(output.answer) && !has(output.missing) && !has(output.missing.field) && !has(output.count.x)",
  "tools.map(tool, has(tool.latency_ms)) == [true, false]",
  "tools.exists(tool, tool.name == 'refund')",
  "tools.all(tool, tool.name != 'delete')",
  "tools.exists_one(tool, tool.error != '')",
  "tools.map(tool, tool.name) == ['search', 'refund']",
  "tools.map(tool, tool.error == '', tool.name) == ['search']",
  "tools.filter(tool, tool.error == '').size() == 1",
  "tools[0].input == {'limit': 5, 'query': 'order 42'}",
  "metadata.exists(key, key == 'env') && metadata.all(key, size(key) > 2)",
  "tools.exists(tool, calls.all(call, call.model != tool.name))",
  "tools.all(status, status.name != 'success') && status == 'success'",
  "[1, 2] + [3] == [1, 2, 3] && 'a' + 'b' == 'ab'",
  "[[1], [2]] == [[1], [2.0]] && {'a': [1]} == {'a': [1]}",
  "[1] != [2] && {'a': 1} != {'b': 1} && output != 3 && output.items != output.deep",
  "'a' < 'b' && 'b' >= 'b' && !('b' <= 'a')",
  "(usage.errors > 0 ? 'some' : 'none') == 'some'",
  "int(2.9) == 2 && int('7') == 7 && double('1.5') == 1.5 && string(1.5) == '1.5'",
  "string(true) == 'true' && string('a') == 'a'",
  "words(goal) == 3 && words('') == 0 && words(' a\\n b\\u00a0c ') == 3",
  "finds(output.answer, 'order') && finds(output.answer, r'#\\d+') && !finds(goal, r'^\\d')",
  "finds(goal, '(?i)ANSWER')",
  "scores.helpful && scores.quality >= 0.8",
  "output.missing == 1 || true",
  "true || output.missing == 1",
  "!(output.missing == 1 && false)",
  "output.items.exists(item, item > 1)",
  "!output.items.all(item, item > 1)",
  "null == null && output.deep != null",
  "{'__proto__': 1}['__proto__'] == 1 && {'constructor': 1}.constructor == 1",
  "!has(output.constructor) && !has(output.toString) && !('constructor' in metadata)",
  "longest_repeat.times < 2 && longest_repeat.name == 'search' && size(unpriced) == 0",
];

Deno.test("language: expressions that are true", () => {
  for (const expression of PASSES) {
    const { status, message } = judged(expression);
    assertEquals([expression, status, message], [expression, "pass", null]);
  }
});

const ERRORS: readonly (readonly [string, string, RegExp])[] = [
  ["output.missing == 1", "no_such_key", /^The output has no field `missing`$/],
  ["output.count.x == 1", "no_such_key", /^`output.count` has no field `x`: it is a number$/],
  ["output.deep.b.c == 1", "no_such_key", /^`output.deep` has no field `b`$/],
  ["output.constructor == 1", "no_such_key", /`constructor`/],
  ["output.__proto__ == {}", "no_such_key", /`__proto__`/],
  ["output['__proto__'] == {}", "no_such_key", /`__proto__`/],
  ["output[metadata.env] == {}", "no_such_key", /`prod`/],
  ["metadata.x == 'a'", "no_such_key", /^The metadata has no field `x`$/],
  ["output.items[3] == 1", "no_such_item", /^`output.items` has 3 items, and no item 3$/],
  ["output.items[0 - 1] == 1", "no_such_item", /no item -1$/],
  ["output.items['length'] == 3", "no_such_key", /no field `length`: it is a list$/],
  ["output.items.length == 3", "no_such_key", /no field `length`: it is a list$/],
  ["output.items[metadata.env] == 3", "wrong_type", /must be a number, it is text$/],
  ["usage.events / (usage.errors - 1) > 0", "division_by_zero", /divides by zero$/],
  ["usage.events % 0 > 0", "division_by_zero", /divides by zero$/],
  ["output.answer > 1", "wrong_type", /^">" in `.*` cannot take text and a number$/],
  ["output.answer", "wrong_type", /^`output.answer` must be true or false, it is text$/],
  ["output.answer && true", "wrong_type", /^`output.answer` must be true or false, it is text$/],
  ["output.count.contains('4')", "wrong_type", /^`output.count` must be text, it is a number$/],
  ["finds(output, 'x')", "wrong_type", /^`output` must be text, it is an object$/],
  ["size(output.count) == 1", "wrong_type", /must be text, a list or an object/],
  ["output.count.all(item, true)", "wrong_type", /must be a list or an object, it is a number$/],
  ["int(output.answer) == 1", "wrong_number", /is not a number$/],
  ["scores.helpful > 1", "wrong_type", /cannot take true or false and a number$/],
  ["tools[1].latency_ms < 5", "unknown", /^`tools\[1\].latency_ms` is unknown$/],
  ["output.items.all(item, item > 0)", "wrong_type", /cannot take text and a number$/],
  ["output.items.exists_one(item, item > 1)", "wrong_type", /cannot take text and a number$/],
];

Deno.test("language: what cannot be decided is an error that says why", () => {
  for (const [expression, reason, words] of ERRORS) {
    const verdict = judged(expression);
    assertEquals([expression, verdict.status, verdict.reason], [expression, "error", reason]);
    assertMatch(verdict.message ?? "", words);
  }
});

Deno.test("language: a duration that is unknown decides nothing, unless it does not matter", () => {
  const facts = { duration_ms: null };
  assertEquals(judged("duration_ms < 5", facts), {
    status: "error",
    got: "duration_ms = unknown",
    message: "`duration_ms` is unknown",
    reason: "unknown",
  });
  assertEquals(judged("duration_ms < 5 || usage.errors == 1", facts).status, "pass");
});

Deno.test("language: an output of any kind is judged", () => {
  assertEquals(judged("output == null", { output: null }).status, "pass");
  assertEquals(judged("output == 'ok'", { output: "ok" }).status, "pass");
  assertEquals(judged("output[0].a == 1", { output: [{ a: 1 }] }).status, "pass");
  const hostile = JSON.parse('{"__proto__": {"a": 1}, "constructor": 5, "length": 1}');
  assertEquals(judged("output.constructor == 5", { output: hostile }).status, "pass");
  assertEquals(judged("output.__proto__.a == 1", { output: hostile }).status, "pass");
  assertEquals(judged("output.a == 1", { output: hostile }).reason, "no_such_key");
});

Deno.test("language: the names of a program are those it reads, not the items of its loops", () => {
  const { names } = compiled(
    "tools.all(kind, kind.name != status) || has(output.a) || metadata['x'] == 1",
  );
  assertEquals([...names].sort(), ["metadata", "output", "status", "tools"]);
});

const GOT: readonly (readonly [string, string])[] = [
  ["cost_usd < 1 && usage.errors == 1 && cost_usd > 0", "cost_usd = 0.25, usage.errors = 1"],
  ["output.items[2] == 'x' && output['deep'].a == 1", 'output.items[2] = "x", output.deep.a = 1'],
  ["has(output.a) || metadata['a b'] == 1", 'output.a = missing, metadata["a b"] = missing'],
  ["tools.all(tool, tool.name != status)", 'tools = ["search", "refund"], status = "success"'],
  ["calls.all(call, true) && size(unpriced) == 0", 'calls = ["gpt-5"], unpriced = []'],
  [
    "size(output.items) == 3 && size(output) == 4",
    'output.items = [1, 2, "x"], output = {4 fields}',
  ],
  ["scores.helpful", "scores.helpful = true"],
  ["1 == 1", ""],
];

Deno.test("got: the values of the names, in the order of use", () => {
  for (const [expression, expected] of GOT) {
    assertEquals([expression, judged(expression).got], [expression, expected]);
  }
});

Deno.test("got: numbers are plain decimals", () => {
  const shown = [0.1 + 0.2, 0.0000001234, 1e21, 123_456_789.123456, 0, -1.5, 1 / 3].map((
    cost_usd,
  ) => judged("cost_usd > 0", { cost_usd }).got.replace("cost_usd = ", ""));
  assertEquals(shown.slice(0, 3), ["0.3", "0.0000001234", "1e+21"]);
  assertEquals(shown.slice(3), ["123456789.123456", "0", "-1.5", "0.333333333333333"]);
});

Deno.test("got: long and hostile values are cut visibly, on one line", () => {
  const { got } = judged("goal == ''", { goal: `a"\n\u2028\u009b😀${"x".repeat(100)}` });
  assertEquals(got, `goal = "a\\"\\n  😀${"x".repeat(53)}…"`);
  const texts = { output: { a: "😀".repeat(500), b: "y".repeat(500), c: "z".repeat(500) } };
  const wide =
    judged("output.a == '' || output.b == '' || output.c == '' || status == ''", texts).got;
  assertEquals([Array.from(wide).length, wide.at(-1)], [200, "…"]);
  assert(wide.isWellFormed());
  const many = FACTS.tools.concat(FACTS.tools, FACTS.tools, FACTS.tools, FACTS.tools, FACTS.tools);
  assertEquals(
    judged("size(tools) > 1", { tools: many.concat(many) }).got.slice(-20),
    'refund", … 24 items]',
  );
});

Deno.test("got: a failure says what was expected, cut visibly", () => {
  assertEquals(judged("cost_usd\n   > 1").message, "Expected cost_usd > 1");
  const { message } = judged(`status == '${"x".repeat(500)}'`);
  assertEquals([message?.length, message?.at(-1)], [200, "…"]);
});

Deno.test("steps: constant for figures and short names, by size for what can be long", () => {
  const simple = compiled("cost_usd < 1 && usage.errors == 0 && status == 'success'");
  assertEquals(
    simple.stepsFor(measure(FACTS)),
    simple.stepsFor(measure({ ...FACTS, output: "x".repeat(10_000) })),
  );
  assert(simple.stepsFor(measure(FACTS)) < 10);
  const loop = compiled("tools.exists(tool, tool.name == 'x')");
  const [few, many] = [2, 200].map((count) => {
    const tools = Array.from(
      { length: count },
      () => ({ name: "a", error: "", latency_ms: 1, input: 1 }),
    );
    return loop.stepsFor(measure({ ...FACTS, tools }));
  });
  assert(few !== undefined && many !== undefined && many > 40 * few, `${few} and ${many}`);
  const search = compiled("finds(output.answer, 'a+b')");
  const steps = [10, 1_000].map((chars) =>
    search.stepsFor(measure({ ...FACTS, output: { answer: "a".repeat(chars) } }))
  );
  assert((steps[1] ?? 0) > 50 * (steps[0] ?? 0), `${steps}`);
});
