/**
 * Reads the model, the provider and the tokens of a model call from a span.
 *
 * No attribute with a cost is read. Input tokens include cached ones, as everywhere in the ledger.
 *
 * @module
 */
import type { JsonFields } from "../core/body.ts";
import { readLlmCall } from "../pricing/llm_call.ts";
import { type AppLabels, countOf, objectOf, plainText, textOf } from "./attributes.ts";
import { MODEL_KEYS, PROVIDER_KEYS } from "./keys.ts";
import type { Attributes, Span } from "./span.ts";

/** Tokens of a call; null for counts that the span does not tell. */
export interface SpanTokens {
  /** Input, including cached tokens. */
  readonly input: number | null;
  /** Output, including reasoning. */
  readonly output: number | null;
  /** Input read from a cache. */
  readonly cached: number | null;
  /** Input written to a cache. */
  readonly written: number | null;
  /** Part of the output that was reasoning. */
  readonly reasoning: number | null;
}

/** A model call as a span tells it. */
export interface SpanUsage extends SpanTokens {
  /** Model that answered, or that was asked; null if unknown. */
  readonly model: string | null;
  /** Model that was asked; null if unknown. */
  readonly requestModel: string | null;
  /** Provider; null if unknown. */
  readonly provider: string | null;
}

/** Frameworks that name themselves as the provider. */
const FRAMEWORKS: ReadonlySet<string> = new Set([
  ...["strands-agents", "langgraph", "langchain", "autogen", "microsoft.agent_framework"],
]);

/** Counts by convention: the first name that a span has counts. */
const COUNT_KEYS: Readonly<Record<keyof SpanTokens, readonly string[]>> = {
  input: [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "ai.usage.tokens",
    "input_tokens",
  ],
  output: [
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
    "output_tokens",
  ],
  cached: [
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "llm.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "ai.usage.cachedInputTokens",
    "cache_read_tokens",
  ],
  written: [
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.usage.cache_creation_input_tokens",
    "llm.token_count.prompt_details.cache_write",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
    "cache_creation_tokens",
  ],
  reasoning: [
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "ai.usage.outputTokenDetails.reasoningTokens",
    "ai.usage.reasoningTokens",
  ],
};

/** An instrumentation whose input leaves out cached tokens. */
interface CacheApart {
  /** Name of its scope. */
  readonly scope: RegExp;
  /** Returns whether it applies to a span of the scope; absent for all. */
  readonly applies?: (span: Span) => boolean;
}

/**
 * Instrumentations that count cached tokens apart from the input (the table of exceptions in
 * `docs/CONNECT.md` names the versions). Parts that exceed their whole show it for all others.
 */
const CACHE_APART: readonly CacheApart[] = [
  { scope: /^com\.anthropic\.claude_code\.tracing$/ },
  { scope: /^@traceloop\/instrumentation-anthropic$/ },
  { scope: /claude[-_]agent[-_]sdk/ },
  { scope: /^opentelemetry\.instrumentation\.botocore\.bedrock-runtime$/ },
  { scope: /^openlit\.instrumentation\.anthropic$/ },
  {
    scope: /^ai$/,
    applies: ({ attributes }) =>
      /anthropic/.test(textOf(attributes, ["ai.model.provider", "gen_ai.system"]) ?? "") &&
      !attributes.has("ai.usage.inputTokenDetails.noCacheTokens"),
  },
];

/** Reads the usage of a model call. */
export function usageOf(span: Span, labels: AppLabels, isFailed: boolean): SpanUsage {
  const { attributes } = span;
  const langfuse = langfuseTokens(attributes);
  const tokens = langfuse ?? withCaches(span, countsOf(attributes));
  const parameters = objectOf(attributes.get("llm.invocation_parameters"));
  const model = textOf(attributes, MODEL_KEYS) ?? plainText(parameters.model);
  const requestModel = textOf(attributes, ["gen_ai.request.model", "ai.model.id", "model"]) ??
    plainText(parameters.model);
  // Streams without usage are reported as zeros by some: unknown, and not free.
  const isUnknown = !isFailed && (tokens.input ?? 0) === 0 && (tokens.output ?? 0) === 0;
  return {
    ...isUnknown ? NO_TOKENS : tokens,
    model,
    requestModel: requestModel === model ? null : requestModel,
    provider: providerOf(span, labels),
  };
}

const NO_TOKENS: SpanTokens = {
  input: null,
  output: null,
  cached: null,
  written: null,
  reasoning: null,
};

function providerOf(span: Span, labels: AppLabels): string | null {
  for (const key of PROVIDER_KEYS) {
    const name = plainText(span.attributes.get(key));
    if (name !== null && !FRAMEWORKS.has(name.toLowerCase())) return name;
  }
  const name = labels.get("ls_provider") ?? null;
  return name === null || FRAMEWORKS.has(name.toLowerCase()) ? null : name;
}

/** Langfuse passes on a provider's own usage, or counts its parts apart; null without any. */
function langfuseTokens(attributes: Attributes): SpanTokens | null {
  const sent = attributes.get("langfuse.observation.usage_details");
  if (sent === undefined) return null;
  const details = objectOf(sent);
  if (Object.keys(details).length === 0) return null;
  const provided = providerTokens(details);
  if (provided !== null) return provided;
  const sumOf = (isPart: (name: string) => boolean): number | null => {
    const counts = Object.entries(details).flatMap(([name, value]) =>
      isPart(name) && Number.isSafeInteger(value) ? [value as number] : []
    );
    return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
  };
  const isCacheOf = (name: string) => /^cache_\w+_input_tokens$/.test(name);
  return {
    input: sumOf((name) => name.startsWith("input") || isCacheOf(name)),
    output: sumOf((name) => name.startsWith("output")),
    cached: sumOf((name) =>
      name === "input_cached_tokens" || name === "input_cache_read" ||
      name === "cache_read_input_tokens"
    ),
    written: sumOf((name) =>
      name === "input_cache_creation" || name === "cache_creation_input_tokens"
    ),
    reasoning: sumOf((name) => /^output_reasoning/.test(name)),
  };
}

/** Reads a provider's own usage object; null if it is none. */
function providerTokens(usage: JsonFields): SpanTokens | null {
  const { call } = readLlmCall({ usage });
  if (!call.counted) return null;
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = call;
  return {
    input: inputTokens,
    output: outputTokens,
    cached: cachedInputTokens,
    written: cacheWriteTokens,
    reasoning: null,
  };
}

/** Counts with the cached tokens in the input, which some instrumentations count apart. */
function withCaches(span: Span, tokens: SpanTokens): SpanTokens {
  const parts = (tokens.cached ?? 0) + (tokens.written ?? 0);
  if (tokens.input === null || parts === 0) return tokens;
  const isApart = parts > tokens.input ||
    CACHE_APART.some(({ scope, applies }) => scope.test(span.scope) && (applies?.(span) ?? true));
  return isApart ? { ...tokens, input: tokens.input + parts } : tokens;
}

function countsOf(attributes: Attributes): SpanTokens {
  const count = (field: keyof SpanTokens) => countOf(attributes, COUNT_KEYS[field]);
  const named = {
    input: count("input"),
    output: count("output"),
    cached: count("cached"),
    written: count("written"),
    reasoning: count("reasoning"),
  };
  const mlflow = mlflowTokens(attributes);
  if (mlflow !== null) return mlflow;
  if (named.cached !== null) return named;
  const { cached, written } = cachesElsewhere(attributes);
  return { ...named, cached, written: named.written ?? written };
}

/** MLflow's counts, whose input includes cached tokens; null for none. */
function mlflowTokens(attributes: Attributes): SpanTokens | null {
  const sent = attributes.get("mlflow.chat.tokenUsage");
  if (sent === undefined) return null;
  const usage = objectOf(sent);
  const counts = new Map(Object.entries(usage)) as Attributes;
  const input = countOf(counts, ["input_tokens"]);
  return input === null ? null : {
    input,
    output: countOf(counts, ["output_tokens"]),
    cached: countOf(counts, ["cache_read_input_tokens"]),
    written: countOf(counts, ["cache_creation_input_tokens"]),
    reasoning: null,
  };
}

const NO_CACHES = { cached: null, written: null } as const;

/** Caches that only a copy of the provider's usage tells. */
function cachesElsewhere(attributes: Attributes): Pick<SpanTokens, "cached" | "written"> {
  for (const key of ["gen_ai.usage.raw", "langsmith.metadata.usage_metadata"]) {
    const usage = attributes.get(key);
    const tokens = usage === undefined ? null : providerTokens(objectOf(usage));
    if (tokens !== null) return tokens;
  }
  // LiteLLM sends the representation of a Python object, which is no JSON.
  const python = textOf(attributes, ["metadata.usage_object"]);
  if (python === null) return NO_CACHES;
  const countAt = (name: RegExp) => {
    const digits = name.exec(python)?.[1];
    return digits === undefined ? null : Number(digits);
  };
  return {
    cached: countAt(/'cached_tokens': (\d{1,15})\b/),
    written: countAt(/'cache_(?:write|creation)_tokens': (\d{1,15})\b/),
  };
}
