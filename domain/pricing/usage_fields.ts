/**
 * Names of usage fields in payloads of model calls: those of the contract and of providers.
 *
 * @module
 */

/** Path to a field: one name per level. */
export type Path = readonly string[];

/** Positions of the token counts in a provider's response. */
export interface Form {
  /** Input tokens; several fields are added. */
  readonly input: readonly Path[];
  /** Output tokens; several fields are added. */
  readonly output: readonly Path[];
  /** Input tokens read from a cache. */
  readonly cached?: readonly Path[];
  /** Input tokens written to a cache; several fields are added. */
  readonly written?: readonly Path[];
  /** Present if the input excludes cache reads and writes: always, or for providers with such a name. */
  readonly isApart?: true | RegExp;
  /** True if several fields are names of the same count, so that the first one is used. */
  readonly isFirst?: true;
  /** Field that distinguishes this form from the following ones. */
  readonly onlyWith?: string;
}

/** Positions of the contract's counts. */
export const CONTRACT: Form = {
  input: [["input_tokens"]],
  output: [["output_tokens"]],
  cached: [["cached_input_tokens"]],
  written: [["cache_creation_input_tokens"]],
};

/** Returns the path of an attribute of OpenTelemetry, whose name contains dots. */
function genAi(name: string): Path {
  return [`gen_ai.usage.${name}`];
}

/** Forms in order of precedence: the first with a readable count is used. */
export const FORMS: readonly Form[] = [
  // OpenAI chat completions and embeddings, Mistral.
  {
    input: [["prompt_tokens"]],
    output: [["completion_tokens"]],
    cached: [["prompt_tokens_details", "cached_tokens"]],
    written: [["prompt_tokens_details", "cache_write_tokens"]],
  },
  // Gemini counts tool prompts and thoughts in addition.
  {
    input: [["promptTokenCount"], ["toolUsePromptTokenCount"]],
    output: [["candidatesTokenCount"], ["thoughtsTokenCount"]],
    cached: [["cachedContentTokenCount"]],
  },
  // The same from Google's Python packages.
  {
    input: [["prompt_token_count"], ["tool_use_prompt_token_count"]],
    output: [["candidates_token_count"], ["thoughts_token_count"]],
    cached: [["cached_content_token_count"]],
  },
  // Vercel's AI SDK from version 6 on.
  {
    input: [["inputTokens"]],
    output: [["outputTokens"]],
    cached: [["inputTokenDetails", "cacheReadTokens"], ["cachedInputTokens"]],
    written: [["inputTokenDetails", "cacheWriteTokens"]],
    isFirst: true,
    onlyWith: "inputTokenDetails",
  },
  // Version 5, which passes on the input as the provider counts it.
  {
    input: [["inputTokens"]],
    output: [["outputTokens"]],
    cached: [["cachedInputTokens"]],
    isApart: /anthropic|bedrock|^claude/i,
    onlyWith: "cachedInputTokens",
  },
  // Converse of Amazon Bedrock.
  {
    input: [["inputTokens"]],
    output: [["outputTokens"]],
    cached: [["cacheReadInputTokens"]],
    written: [["cacheWriteInputTokens"]],
    isApart: true,
  },
  // Vercel's AI SDK up to version 4, LangChain for JavaScript.
  { input: [["promptTokens"]], output: [["completionTokens"]] },
  // LangChain's usage_metadata; where the lifetimes of cache writes are named, cache_creation is 0.
  {
    input: [["input_tokens"]],
    output: [["output_tokens"]],
    cached: [["input_token_details", "cache_read"]],
    written: ["cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"]
      .map((name) => ["input_token_details", name]),
    onlyWith: "input_token_details",
  },
  // OpenTelemetry, with its older names.
  {
    input: [genAi("input_tokens"), genAi("prompt_tokens")],
    output: [genAi("output_tokens"), genAi("completion_tokens")],
    cached: [genAi("cache_read.input_tokens"), genAi("cache_read_input_tokens")],
    written: [
      genAi("cache_write.input_tokens"),
      genAi("cache_creation.input_tokens"),
      genAi("cache_creation_input_tokens"),
    ],
    isFirst: true,
  },
  // Cohere bills fewer tokens than it processes.
  ...["billed_units", "tokens"].map((member): Form => ({
    input: [[member, "input_tokens"]],
    output: [[member, "output_tokens"]],
  })),
  // OpenAI Responses.
  {
    input: [["input_tokens"]],
    output: [["output_tokens"]],
    cached: [["input_tokens_details", "cached_tokens"]],
    written: [["input_tokens_details", "cache_write_tokens"]],
    onlyWith: "input_tokens_details",
  },
  // Anthropic: older responses have one count of cache writes, newer ones also its breakdown.
  ...[
    [["cache_creation_input_tokens"]],
    [
      ["cache_creation", "ephemeral_5m_input_tokens"],
      ["cache_creation", "ephemeral_1h_input_tokens"],
    ],
  ].map((written): Form => ({
    input: [["input_tokens"]],
    output: [["output_tokens"]],
    cached: [["cache_read_input_tokens"]],
    written,
    isApart: true,
    ...written.length === 1 ? { onlyWith: "cache_creation_input_tokens" } : {},
  })),
];

/** Fields of a payload that contain a provider's counts; null is the payload itself. */
export const CONTAINERS = ["usage", "usageMetadata", "usage_metadata", "meta", null] as const;

/** Usage fields of the contract that pricing does not use. */
export const OTHER_FIGURES = ["latency_ms", "reasoning_tokens"] as const;

/** Names of the model, in order of precedence. */
export const MODEL_FIELDS = [
  "model",
  "modelVersion",
  "gen_ai.response.model",
  "gen_ai.request.model",
] as const;

/** Names of the provider, in order of precedence. */
export const PROVIDER_FIELDS = ["provider", "gen_ai.provider.name", "gen_ai.system"] as const;

/** Fields of a payload that are read and are not counts. */
const LABEL_FIELDS = ["error", "status", "mode", ...MODEL_FIELDS, ...PROVIDER_FIELDS] as const;

const PATHS: readonly Path[] = [CONTRACT, ...FORMS].flatMap(
  ({ input, output, cached = [], written = [] }) => [...input, ...output, ...cached, ...written],
);

const HOLDERS = [...OTHER_FIGURES, ...CONTAINERS.flatMap((name) => name ?? [])];

/** All fields of a payload that are read; a truncated payload keeps them. */
export const USAGE_FIELDS: ReadonlySet<string> = new Set([
  ...LABEL_FIELDS,
  ...HOLDERS,
  ...PATHS.flatMap((path) => path.slice(0, 1)),
]);

/** Counts, the objects that contain them, and the service tier, at any level. */
export const COUNT_FIELDS: ReadonlySet<string> = new Set([
  ...HOLDERS,
  ...PATHS.flat(),
  "service_tier",
]);
