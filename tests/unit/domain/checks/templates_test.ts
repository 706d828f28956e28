import { assertEquals, assertMatch } from "@std/assert";
import type { AllFacts } from "../../../../domain/checks/program.ts";
import { CHECK_TEMPLATES } from "../../../../domain/checks/templates.ts";
import { FACTS, judged } from "../../../support/builders/check_facts.ts";

const { usage, tools } = FACTS;
const [search, refund] = tools;

/** Facts that pass, then facts that fail. */
const RUNS: Readonly<Record<string, readonly [Partial<AllFacts>, Partial<AllFacts>]>> = {
  "quick-enough": [{}, { duration_ms: 60_001 }],
  "cheap-enough": [{}, { cost_usd: 0.51 }],
  "few-tokens": [{}, { usage: { ...usage, output_tokens: 50_000 } }],
  "few-calls": [{}, { usage: { ...usage, tool_calls: 31 } }],
  "no-errors": [{ usage: { ...usage, errors: 0 } }, {}],
  "all-priced": [{}, { unpriced: ["new-model"] }],
  "tool-called": [{}, { tools: [] }],
  "tool-never-called": [{}, { tools: tools.map((tool) => ({ ...tool, name: "delete_account" })) }],
  "tools-in-order": [{}, { tools: tools.toReversed() }],
  "no-loop": [{}, { longest_repeat: { times: 4, name: "search" } }],
  "output-has": [{}, { output: { text: "yes" } }],
  "output-equals": [{ output: { answer: "yes" } }, {}],
  "output-contains": [{ output: { answer: "a refund" } }, {}],
  "output-matches": [{}, { output: { answer: "order # 42" } }],
  "score-at-least": [{}, { scores: { quality: 0.79 } }],
};

Deno.test("templates: each passes a good run and fails a bad one", () => {
  assertEquals([search?.name, refund?.name], ["search", "refund"]);
  assertEquals(CHECK_TEMPLATES.map(({ name }) => name), Object.keys(RUNS));
  for (const { name, expression, words } of CHECK_TEMPLATES) {
    const [good, bad] = RUNS[name] ?? [{}, {}];
    assertEquals([name, judged(expression, good).status], [name, "pass"]);
    assertEquals([name, judged(expression, bad).status], [name, "fail"]);
    assertMatch(words, /^[A-Z][^\n]+\.$/);
  }
});
