/**
 * Templates of checks: expressions to edit.
 *
 * @module
 */

/** A template. */
export interface CheckTemplate {
  /** Slug, which is also the suggested name of the check. */
  readonly name: string;
  /** Title. */
  readonly title: string;
  /** Its purpose, in one line. */
  readonly words: string;
  /** Expression with values to replace. */
  readonly expression: string;
}

/** All templates, in the order of the form. */
export const CHECK_TEMPLATES: readonly CheckTemplate[] = [
  {
    name: "quick-enough",
    title: "Duration",
    words: "The run takes no longer than a limit, in milliseconds.",
    expression: "duration_ms <= 60000",
  },
  {
    name: "cheap-enough",
    title: "Cost",
    words: "The run costs no more than a limit, in US dollars.",
    expression: "cost_usd <= 0.50",
  },
  {
    name: "few-tokens",
    title: "Tokens",
    words: "Input and output together stay below a number of tokens.",
    expression: "usage.input_tokens + usage.output_tokens <= 50000",
  },
  {
    name: "few-calls",
    title: "Calls",
    words: "The run makes no more model calls and tool calls than a limit.",
    expression: "usage.llm_calls <= 20 && usage.tool_calls <= 30",
  },
  {
    name: "no-errors",
    title: "Errors",
    words: "No call of the run failed.",
    expression: "usage.errors == 0",
  },
  {
    name: "all-priced",
    title: "Priced",
    words: "Every model that the run used has a price, so that its cost is complete.",
    expression: "size(unpriced) == 0",
  },
  {
    name: "tool-called",
    title: "Tool called",
    words: "The run calls a tool at least once.",
    expression: 'tools.exists(tool, tool.name == "search")',
  },
  {
    name: "tool-never-called",
    title: "Tool never called",
    words: "The run never calls a tool.",
    expression: '!tools.exists(tool, tool.name == "delete_account")',
  },
  {
    name: "tools-in-order",
    title: "Tools in this order",
    words:
      "The run calls these tools once each, in this order; calls of other tools do not matter.",
    expression:
      'tools.map(tool, tool.name).filter(name, name in ["search", "refund"]) == ["search", "refund"]',
  },
  {
    name: "no-loop",
    title: "Loop",
    words: "The run does not repeat the same calls of tools again and again.",
    expression: "longest_repeat.times < 4",
  },
  {
    name: "output-has",
    title: "Output has a field",
    words: "The output has a field, whatever its value.",
    expression: "has(output.answer)",
  },
  {
    name: "output-equals",
    title: "Output equals",
    words: "A field of the output has exactly this value.",
    expression: 'output.answer == "yes"',
  },
  {
    name: "output-contains",
    title: "Output contains",
    words: "A text of the output contains these words.",
    expression: 'output.answer.contains("refund")',
  },
  {
    name: "output-matches",
    title: "Output matches",
    words: "A text of the output has a part that matches a pattern.",
    expression: "finds(output.answer, r'(?i)order #[0-9]+')",
  },
  {
    name: "score-at-least",
    title: "Score at least",
    words: "A score of the run reaches a limit.",
    expression: "scores.quality >= 0.8",
  },
];
