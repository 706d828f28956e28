import { assert, assertEquals } from "@std/assert";
import { compiled, FACTS, judged } from "../../../support/builders/check_facts.ts";
import { measure } from "../../../../domain/checks/language/sizes.ts";

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
