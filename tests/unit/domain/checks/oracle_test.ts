import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Environment } from "@marcbachmann/cel-js";
import fc from "fast-check";
import { compile } from "../../../../domain/checks/compile.ts";
import { FACT_TYPES, FIELD_TYPES } from "../../../../domain/checks/program.ts";
import { FACTS } from "../../../support/builders/check_facts.ts";
import { PATTERNS } from "../../../support/builders/patterns.ts";
import { problemOf } from "../../../support/oracles/problems.ts";

/** The library's own evaluation, as CEL defines it, of the same names. */
const oracle = createOracle();

function createOracle(): Environment {
  const environment = new Environment({ homogeneousAggregateLiterals: false });
  for (const [name, fields] of Object.entries(FIELD_TYPES)) {
    environment.registerType(name, { fields });
  }
  for (const [name, type] of Object.entries(FACT_TYPES)) environment.registerVariable(name, type);
  environment.registerOperator("double == int", (a: number, b: bigint) => a === Number(b));
  return environment;
}

const FIELDS = ["output.answer", "output.count", "output.items", "output.deep", "output.missing"];
const NUMBERS = [
  "cost_usd",
  "usage.errors",
  "1.0",
  "2.0",
  "output.count",
  "item",
  "metadata.tries",
];
const TEXTS = ["status", "output.answer", "'success'", "'x'", "item", "metadata.env", "agent"];
const LISTS = ["output.items", "['a', 'x']", "tools.map(t, t.name)", "metadata", "[1.0, 42.0]"];

const any = fc.constantFrom(...FIELDS, ...NUMBERS, ...TEXTS, "null", "scores.helpful");

const { test } = fc.letrec<{ test: string }>((tie) => ({
  test: fc.oneof(
    { depthSize: "medium" },
    fc.tuple(any, fc.constantFrom("==", "!="), any).map((parts) => parts.join(" ")),
    fc.tuple(
      fc.constantFrom(...NUMBERS),
      fc.constantFrom("<", "<=", ">", ">="),
      fc.constantFrom(...NUMBERS),
    )
      .map((parts) => parts.join(" ")),
    fc.tuple(
      fc.constantFrom(...TEXTS),
      fc.constantFrom("contains", "startsWith", "endsWith"),
      fc.constantFrom(...TEXTS),
    )
      .map(([whole, name, part]) => `${whole}.${name}(${part})`),
    fc.tuple(any, fc.constantFrom(...LISTS)).map(([value, items]) => `${value} in ${items}`),
    fc.constantFrom(
      "has(output.answer)",
      "has(output.missing)",
      "scores.helpful",
      "output.deep.a == 1.0",
    ),
    fc.tuple(fc.constantFrom(...LISTS), fc.constantFrom("size(%) > 2", "%.size() == 2")).map((
      [items, form],
    ) => form.replace("%", items)),
    fc.tuple(tie("test"), fc.constantFrom("&&", "||"), tie("test"))
      .map(([left, op, right]) => `(${left} ${op} ${right})`),
    tie("test").map((inner) => `!(${inner})`),
    fc.tuple(tie("test"), tie("test"), tie("test")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    fc.tuple(fc.constantFrom(...LISTS), fc.constantFrom("all", "exists", "exists_one"), tie("test"))
      .map(([items, loop, inner]) => `${items}.${loop}(item, ${inner})`),
    fc.tuple(fc.constantFrom(...LISTS), tie("test"))
      .map(([items, inner]) => `${items}.filter(item, ${inner}).size() > 1`),
  ),
}));

Deno.test("oracle: expressions are decided as the library decides them", () => {
  let [decided, undecided] = [0, 0];
  const check = (source: string) => {
    const parsed = oracle.parse(source);
    if (!parsed.check().valid) return;
    const expected = outcomeOf(() => parsed(FACTS));
    const problem = problemOf(() => compile(source, PATTERNS));
    if (problem !== null) {
      // The library has no bounds.
      assertStringIncludes(problem.message, "plit it into several checks");
      return;
    }
    const { status } = compile(source, PATTERNS).judge(FACTS);
    assertEquals([source, status], [source, expected]);
    if (status === "error") undecided++;
    else decided++;
  };
  // A variable of no loop is unknown, so each test is within one.
  const within = test.map((inner) => `output.items.exists(item, ${inner})`);
  fc.assert(fc.property(within, check), { numRuns: 3_000, seed: 67 });
  assert(decided > 500 && undecided > 100, `${decided} decided, ${undecided} not`);
});

function outcomeOf(evaluate: () => unknown): string {
  try {
    const value = evaluate();
    return value === true ? "pass" : value === false ? "fail" : "error";
  } catch {
    return "error";
  }
}
