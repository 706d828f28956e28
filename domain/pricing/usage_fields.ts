/**
 * Names of the usage figures in payloads of model calls: the contract's own and those of providers.
 *
 * @module
 */

/** A figure: its name, or the names on the way to it. */
export type Path = readonly string[];

/** Where a provider's answer holds its token counts. */
export interface Form {
  /** Input tokens; several are added. */
  readonly input: readonly Path[];
  /** Output tokens; several are added. */
  readonly output: readonly Path[];
  /** Input tokens read from a cache. */
  readonly cached: readonly Path[];
  /** Input tokens written to a cache; several are added. */
  readonly written: readonly Path[];
  /** Whether the input leaves out what was read from a cache and written to one. */
  readonly isApart: boolean;
  /** A member that tells this form from the ones below it. */
  readonly onlyWith?: string;
}

/** Where the contract has its counts. */
export const CONTRACT: Form = {
  input: [["input_tokens"]],
  output: [["output_tokens"]],
  cached: [["cached_input_tokens"]],
  written: [["cache_creation_input_tokens"]],
  isApart: false,
};

/** Forms in the order they are tried: the first with a readable count is used. */
export const FORMS: readonly Form[] = [
  // OpenAI chat completions and embeddings, Mistral.
  {
    input: [["prompt_tokens"]],
    output: [["completion_tokens"]],
    cached: [["prompt_tokens_details", "cached_tokens"]],
    written: [["prompt_tokens_details", "cache_write_tokens"]],
    isApart: false,
  },
  // Gemini: prompts of tools and thoughts are counted on top.
  {
    input: [["promptTokenCount"], ["toolUsePromptTokenCount"]],
    output: [["candidatesTokenCount"], ["thoughtsTokenCount"]],
    cached: [["cachedContentTokenCount"]],
    written: [],
    isApart: false,
  },
  // Cohere: billed tokens are fewer than those it processed.
  ...["billed_units", "tokens"].map((member): Form => ({
    input: [[member, "input_tokens"]],
    output: [[member, "output_tokens"]],
    cached: [],
    written: [],
    isApart: false,
  })),
  // OpenAI Responses.
  {
    input: [["input_tokens"]],
    output: [["output_tokens"]],
    cached: [["input_tokens_details", "cached_tokens"]],
    written: [["input_tokens_details", "cache_write_tokens"]],
    isApart: false,
    onlyWith: "input_tokens_details",
  },
  // Anthropic, where older answers have one count of written tokens and newer ones its parts as well.
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

/** Members of a payload that hold a provider's counts; last the payload itself. */
export const CONTAINERS = ["usage", "usageMetadata", "meta", null] as const;

/** Other figures of the contract, which nothing is computed from. */
export const OTHER_FIGURES = ["latency_ms", "reasoning_tokens"] as const;

/** Members of a payload that are read and are no counts. */
const LABEL_FIELDS = ["error", "status", "mode", "model", "modelVersion", "provider"] as const;

const PATHS: readonly Path[] = [CONTRACT, ...FORMS].flatMap((
  { input, output, cached, written },
) => [
  ...input,
  ...output,
  ...cached,
  ...written,
]);

const HOLDERS = [...OTHER_FIGURES, ...CONTAINERS.flatMap((name) => name ?? [])];

/** Members of a payload that anything is read from: a truncated payload keeps them. */
export const USAGE_FIELDS: ReadonlySet<string> = new Set([
  ...LABEL_FIELDS,
  ...HOLDERS,
  ...PATHS.flatMap((path) => path.slice(0, 1)),
]);

/** Counts, the objects that hold them, and the tier that is read with them, at any level. */
export const COUNT_FIELDS: ReadonlySet<string> = new Set([
  ...HOLDERS,
  ...PATHS.flat(),
  "service_tier",
]);
