import { assertEquals } from "@std/assert";
import { compile } from "../../../../domain/checks/compile.ts";
import { type Facts, STEPS_MAX } from "../../../../domain/checks/program.ts";
import { measure } from "../../../../domain/checks/language/sizes.ts";
import { PATTERNS } from "../../../support/builders/patterns.ts";

/** Its work is small for the lists that are assumed when it is stored. */
const EXPRESSION = "output.list.filter(i, output.list == output.list.map(k, k)).size() >= 0";

Deno.test("checks: the work of an expression ends at its bound, as an error", () => {
  const list = Array.from({ length: 3_000 }, (_, id) => ({ id, text: `item ${id}` }));
  const facts: Facts = { output: { list } };
  const program = compile(EXPRESSION, PATTERNS);
  assertEquals(program.stepsFor(measure(facts)), STEPS_MAX);
  const { status, reason } = program.judge(facts);
  assertEquals([status, reason], ["error", "too_much_work"]);
});
