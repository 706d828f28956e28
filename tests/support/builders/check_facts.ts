import { compile } from "../../../domain/checks/compile.ts";
import type { AllFacts, Program, Verdict } from "../../../domain/checks/program.ts";
import { PATTERNS } from "./patterns.ts";
import { problemOf } from "../oracles/problems.ts";

/** Facts of a small run that went well. */
export const FACTS: AllFacts = {
  status: "success",
  kind: "live",
  agent: "support-triage",
  customer_id: "acme",
  feature: "",
  duration_ms: 12_500,
  goal: "Answer the question",
  cost_usd: 0.25,
  cost_with_children_usd: 0.3,
  usage: {
    events: 5,
    llm_calls: 2,
    tool_calls: 3,
    errors: 1,
    input_tokens: 1_200,
    output_tokens: 300,
    cached_input_tokens: 0,
  },
  unpriced: [],
  metadata: { env: "prod", tries: 2 },
  scores: { quality: 0.9, helpful: true },
  output: { answer: "yes, order #42 is on its way", count: 42, items: [1, 2, "x"], deep: { a: 1 } },
  tools: [
    { name: "search", error: "", latency_ms: 120, input: { query: "order 42", limit: 5 } },
    { name: "refund", error: "timeout", latency_ms: null, input: null },
  ],
  calls: [{
    provider: "openai",
    model: "gpt-5",
    error: "",
    latency_ms: 900,
    input_tokens: 600,
    output_tokens: 150,
  }],
  longest_repeat: { times: 1, name: "search" },
};

export function compiled(expression: string): Program {
  return compile(expression, PATTERNS);
}

export function refusalOf(expression: string): string {
  const problem = problemOf(() => compile(expression, PATTERNS));
  if (problem === null) throw new Error(`${expression} is accepted`);
  return problem.message;
}

/** Judges {@link FACTS}, some of them replaced. */
export function judged(expression: string, facts: Partial<AllFacts> = {}): Verdict {
  return compiled(expression).judge({ ...FACTS, ...facts });
}
