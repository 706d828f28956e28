/** Metrics of a model call: which are read, and which are named as unreadable. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { LABEL_CHARS_MAX } from "../../../../domain/core/limits.ts";
import { readLlmCall } from "../../../../domain/pricing/llm_call.ts";
import { USAGE_FIELDS } from "../../../../domain/pricing/usage_fields.ts";

/** Counts of a payload: input, output, cached, written; null if absent. */
function countsOf(data: Record<string, unknown>) {
  const { call } = readLlmCall(data);
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = call;
  return call.counted ? [inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens] : null;
}

const MAX = Number.MAX_SAFE_INTEGER;

Deno.test("R3: numbers and plain decimal text are read, any other value is named as unreadable", () => {
  const readable = [[7, 7], [0, 0], [7.0, 7], ["7", 7], ["7.0", 7], ["007", 7], [MAX, MAX]];
  for (const [sent, read] of readable) {
    const { call, unreadable } = readLlmCall({ input_tokens: sent, output_tokens: 1 });
    assertEquals([call.inputTokens, unreadable], [read as number, []], JSON.stringify(sent));
  }
  const unreadable = [
    ...[-1, 10.5, MAX + 1, Infinity, NaN, "10.5", "1e3", "-1", "", " 7", "seven", "0x7"],
    ...[true, [], {}, "9".repeat(30)],
  ];
  for (const input of unreadable) {
    const read = readLlmCall({ input_tokens: input, output_tokens: 1 });
    assertEquals(read.unreadable, ["input_tokens"], JSON.stringify(input));
    assertEquals([read.call.counted, read.call.inputTokens, read.call.outputTokens], [true, 0, 1]);
  }
});

Deno.test("R3: fractional latency is rounded; null is absent", () => {
  const of = (fields: object) => readLlmCall({ input_tokens: 1, ...fields }).unreadable;
  assertEquals(of({ latency_ms: 12.7 }), []);
  assertEquals(of({ latency_ms: "12.7", reasoning_tokens: "3" }), []);
  assertEquals(of({ latency_ms: null, output_tokens: null, reasoning_tokens: null }), []);
  assertEquals(of({ latency_ms: -1, reasoning_tokens: 0.5 }), ["latency_ms", "reasoning_tokens"]);
});

Deno.test("R5: a call without a readable count is not counted", () => {
  assertEquals(countsOf({ model: "m" }), null);
  assertEquals(countsOf({ model: "m", input_tokens: "many", usage: { prompt_tokens: -1 } }), null);
  assertEquals(countsOf({ model: "m", cache_creation_input_tokens: 5 }), null);
  assertEquals(countsOf({ model: "m", input_tokens: 0 }), [0, 0, 0, 0]);
});

Deno.test("R8: a model or provider is stored as text; long names are cut and other types are named", () => {
  const of = (model: unknown) => {
    const { call, unreadable, isCut } = readLlmCall({ input_tokens: 1, output_tokens: 1, model });
    return [call.model, unreadable, isCut];
  };
  assertEquals(of("m"), ["m", [], false]);
  assertEquals(of(4), ["4", [], false]);
  assertEquals(of(true), ["true", [], false]);
  assertEquals(of(null), [null, [], false]);
  for (const other of [{}, ["m"], "\ud800"]) assertEquals(of(other), [null, ["model"], false]);
  for (const unit of ["m", "é", "\u{1f600}"]) {
    const most = unit.repeat(LABEL_CHARS_MAX);
    assertEquals(of(most), [most, [], false]);
    assertEquals(of(`${most}${unit}`), [most, [], true]);
    assertEquals(of(`m${most}`), [`m${unit.repeat(LABEL_CHARS_MAX - 1)}`, [], true]);
  }
});

Deno.test("R4: the contract's fields win over the provider's members, and those over bare names", () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4 };
  assertEquals(countsOf({ input_tokens: 1, usage }), [1, 4, 0, 0]);
  assertEquals(countsOf({ input_tokens: "x", usage }), [3, 4, 0, 0]);
  assertEquals(countsOf({ prompt_tokens: 9, usage }), [3, 4, 0, 0]);
  assertEquals(countsOf({ ...usage, prompt_tokens_details: { cached_tokens: 2 } }), [3, 4, 2, 0]);
  assertEquals(countsOf({ promptTokenCount: 5, thoughtsTokenCount: 2 }), [5, 2, 0, 0]);
  assertEquals(countsOf({ usage: [], usageMetadata: 7, meta: null }), null);
  const { call, unreadable } = readLlmCall({ usage: { prompt_tokens: 1.5, completion_tokens: 2 } });
  assertEquals([call.outputTokens, unreadable], [2, ["usage.prompt_tokens"]]);
});

Deno.test("R4: the names of the details decide whether cached tokens are part of the input", () => {
  const usage = { input_tokens: 100, output_tokens: 1 };
  const details = { cached_tokens: 60, cache_write_tokens: 30 };
  assertEquals(countsOf({ usage: { ...usage, input_tokens_details: details } }), [100, 1, 60, 30]);
  const read = { cache_read_input_tokens: 60 };
  assertEquals(countsOf({ usage: { ...usage, ...read } }), [160, 1, 60, 0]);
  const written = { cache_creation_input_tokens: 30 };
  assertEquals(countsOf({ usage: { ...usage, ...read, ...written } }), [190, 1, 60, 30]);
  const parts = { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 5 };
  assertEquals(countsOf({ usage: { ...usage, cache_creation: parts } }), [115, 1, 0, 15]);
  // The same names at the top level; the contract's own names count cached tokens as input.
  assertEquals(countsOf({ ...usage, ...read, ...written }), [190, 1, 60, 30]);
  assertEquals(countsOf({ ...usage, input_tokens_details: details }), [100, 1, 60, 30]);
  assertEquals(countsOf({ ...usage, cached_input_tokens: 60, ...written }), [100, 1, 60, 30]);
  assertEquals(countsOf({ ...usage, cached_input_tokens: 60, ...read }), [100, 1, 60, 0]);
});

/** Usage in each form of a package, with the counts: input, output, cached, written. */
const FORMS: readonly (readonly [string, Record<string, unknown>, readonly number[]])[] = [
  ["Bedrock Converse: caches are apart", {
    usage: {
      inputTokens: 113,
      outputTokens: 20,
      totalTokens: 3_333,
      cacheReadInputTokens: 3_000,
      cacheWriteInputTokens: 200,
    },
  }, [3_313, 20, 3_000, 200]],
  ["Bedrock Converse without caches", { inputTokens: 7, outputTokens: 2 }, [7, 2, 0, 0]],
  ["AI SDK 6: caches are part", {
    provider: "anthropic",
    usage: {
      inputTokens: 3_313,
      inputTokenDetails: { noCacheTokens: 113, cacheReadTokens: 3_000, cacheWriteTokens: 200 },
      outputTokens: 276,
      outputTokenDetails: { textTokens: 212, reasoningTokens: 64 },
      cachedInputTokens: 3_000,
      reasoningTokens: 64,
    },
  }, [3_313, 276, 3_000, 200]],
  ["AI SDK 5: part at OpenAI", {
    model: "gpt-5",
    usage: { inputTokens: 1_200, outputTokens: 276, reasoningTokens: 64, cachedInputTokens: 1_024 },
  }, [1_200, 276, 1_024, 0]],
  ["AI SDK 5: apart at Anthropic", {
    provider: "anthropic.messages",
    usage: { inputTokens: 1_200, outputTokens: 276, cachedInputTokens: 1_024 },
  }, [2_224, 276, 1_024, 0]],
  ["AI SDK 5: apart for Claude without a provider", {
    model: "claude-haiku-4-5",
    usage: { inputTokens: 1_200, outputTokens: 276, cachedInputTokens: 1_024 },
  }, [2_224, 276, 1_024, 0]],
  ["AI SDK 5: part at a gateway", {
    provider: "openrouter",
    model: "anthropic/claude-haiku-4-5",
    usage: { inputTokens: 1_200, outputTokens: 276, cachedInputTokens: 1_024 },
  }, [1_200, 276, 1_024, 0]],
  ["AI SDK 4", {
    usage: { promptTokens: 12, completionTokens: 3, totalTokens: 15 },
  }, [12, 3, 0, 0]],
  ["LangChain: caches are part", {
    usage_metadata: {
      input_tokens: 3_313,
      output_tokens: 20,
      total_tokens: 3_333,
      input_token_details: { cache_read: 3_000, cache_creation: 200, audio: 0 },
      output_token_details: { reasoning: 8 },
    },
  }, [3_313, 20, 3_000, 200]],
  ["LangChain: lifetimes of cache writes", {
    usage_metadata: {
      input_tokens: 3_313,
      output_tokens: 20,
      input_token_details: {
        ...{ cache_read: 3_000, cache_creation: 0 },
        ...{ ephemeral_5m_input_tokens: 150, ephemeral_1h_input_tokens: 50 },
      },
    },
  }, [3_313, 20, 3_000, 200]],
  ["LangChain without details", { usage_metadata: { input_tokens: 5, output_tokens: 2 } }, [
    ...[5, 2, 0, 0],
  ]],
  ["LangChain at the top level", {
    ...{ model: "m", input_tokens: 100, output_tokens: 2 },
    input_token_details: { cache_read: 60 },
  }, [100, 2, 60, 0]],
  ["google-genai", {
    usage_metadata: {
      prompt_token_count: 100,
      candidates_token_count: 20,
      thoughts_token_count: 5,
      cached_content_token_count: 60,
    },
  }, [100, 25, 60, 0]],
  ["OpenTelemetry", {
    "gen_ai.usage.input_tokens": 3_313,
    "gen_ai.usage.output_tokens": 20,
    "gen_ai.usage.cache_read.input_tokens": 3_000,
    "gen_ai.usage.cache_write.input_tokens": 200,
    "gen_ai.usage.cache_creation.input_tokens": 200,
    "gen_ai.usage.reasoning.output_tokens": 8,
  }, [3_313, 20, 3_000, 200]],
  ["OpenTelemetry, older names", {
    "gen_ai.usage.prompt_tokens": 3_313,
    "gen_ai.usage.completion_tokens": 20,
    "gen_ai.usage.cache_read_input_tokens": 3_000,
    "gen_ai.usage.cache_creation_input_tokens": 200,
  }, [3_313, 20, 3_000, 200]],
];

for (const [form, data, counts] of FORMS) {
  Deno.test(`R27: ${form}`, () => assertEquals(countsOf(data), counts));
}

Deno.test("R27: attributes of OpenTelemetry name the model and the provider", () => {
  const { call } = readLlmCall({
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5",
    "gen_ai.response.model": "gpt-5-2025-08-07",
    input_tokens: 1,
    output_tokens: 1,
  });
  assertEquals([call.provider, call.model], ["openai", "gpt-5-2025-08-07"]);
});

Deno.test("R4: an input that exceeds 2^53 with its cached tokens is unreadable", () => {
  const usage = { input_tokens: MAX, cache_read_input_tokens: 1, output_tokens: 2 };
  const { call, unreadable } = readLlmCall({ usage });
  assertEquals(unreadable, ["usage.input_tokens"]);
  assertEquals([call.inputTokens, call.cachedInputTokens, call.outputTokens], [0, 0, 2]);
});

Deno.test("R12: a call belongs to a batch by its mode or by its provider's service tier", () => {
  const isBatch = (data: object) => readLlmCall({ input_tokens: 1, output_tokens: 1, ...data });
  assertEquals(isBatch({ mode: "batch" }).call.isBatch, true);
  assertEquals(isBatch({ usage: { service_tier: "batch" } }).call.isBatch, true);
  for (const mode of ["Batch", true, null, ["batch"], "standard"]) {
    assertEquals(isBatch({ mode }).call.isBatch, false);
  }
});

Deno.test("the fast reader agrees with the full reader, and needs only the metric members", () => {
  const count = fc.oneof(fc.nat(), fc.constantFrom("5", 1.5, -1, null, undefined, MAX));
  const names = [...USAGE_FIELDS].filter((name) =>
    !["usage", "usageMetadata", "usage_metadata", "meta"].includes(name)
  );
  const text = fc.oneof(fc.string(), fc.constantFrom(null, undefined, 5, "batch"));
  const data = fc.record({
    ...Object.fromEntries(names.map((name) => [name, count])),
    ...{ model: text, provider: text, mode: text, modelVersion: text },
    other: fc.jsonValue(),
  }, { requiredKeys: [] });
  let fastCount = 0;
  fc.assert(fc.property(data, (sent) => {
    const read = readLlmCall(sent);
    // An empty `usage` has no counts and takes the slow path.
    assertEquals(readLlmCall({ ...sent, usage: {} }), read);
    const retained = Object.entries(sent).filter(([name]) => USAGE_FIELDS.has(name));
    assertEquals(readLlmCall(Object.fromEntries(retained)), read);
    if (read.call.counted && read.unreadable.length === 0) fastCount++;
  }));
  assert(fastCount > 0);
});
