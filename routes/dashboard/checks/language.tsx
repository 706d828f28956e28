/** The language of expressions on half a page, next to the form. */
import type { FactName } from "../../../domain/checks/program.ts";
import { Section } from "../components/elements.tsx";
import { REFERENCE_PATH } from "../layout/paths.ts";

/** Names with their meaning. */
const NAMES: Readonly<Record<FactName, string>> = {
  status: "success, failed, timeout or cancelled",
  kind: "run or heartbeat",
  agent: "slug of the agent",
  customer_id: "text, empty without one",
  feature: "text, empty without one",
  duration_ms: "milliseconds, or null",
  goal: "text of the opening",
  cost_usd: "dollars",
  cost_with_children_usd: "dollars, with child runs",
  usage: "events, llm_calls, tool_calls, errors, input_tokens, output_tokens, cached_input_tokens",
  unpriced: "models without a price",
  metadata: "labels, such as metadata.host",
  scores: "numbers and booleans, such as scores.grounded",
  output: "the output as JSON",
  tools: "tool calls by time: name, error, latency_ms, input",
  calls: "model calls by time: provider, model, error, latency_ms, input_tokens, output_tokens",
  longest_repeat: "the longest series of equal tool calls: times, name",
};

/** Functions and operators, each with an example. */
const FORMS: readonly (readonly [example: string, meaning: string])[] = [
  ["cost_usd < 0.50 && usage.errors == 0", "and; || is or, ! is not"],
  [`status in ["success", "cancelled"]`, "one of a list"],
  ["has(output.answer)", "whether a field is there"],
  [`tools.exists(t, t.name == "search")`, "one of them; all, filter and map too"],
  ["size(tools) <= 20", "length of a list or a text"],
  [`finds(goal, "refund|chargeback")`, "whether a pattern (RE2) occurs in a text"],
  ["words(output.answer) <= 200", "number of words"],
  [`output.answer.contains("sorry")`, "startsWith and endsWith too"],
];

export function LanguageHelp() {
  return (
    <Section title="Expressions" id="language">
      <p>
        An expression in CEL that is true for a good run. An expression that cannot be decided never
        passes. <a href={REFERENCE_PATH}>API reference</a>
      </p>
      <Words name="words" words={FORMS} />
      <details open>
        <summary>Names</summary>
        <Words name="names" words={Object.entries(NAMES)} />
      </details>
    </Section>
  );
}

function Words({ name, words }: {
  /** Class of the list. */
  readonly name: string;
  readonly words: typeof FORMS;
}) {
  return (
    <dl class={name}>
      {words.map(([word, meaning]) => (
        <div>
          <dt>
            <code>{word}</code>
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
