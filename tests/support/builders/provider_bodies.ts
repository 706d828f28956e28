/** Responses of providers, each in its API's documented form. */

/** `POST /v1/chat/completions` of OpenAI. */
export const OPENAI_CHAT = {
  id: "chatcmpl-Ca1Rr0mZT7bJm2R0S7hXcT8mKkM2Q",
  object: "chat.completion",
  created: 1_763_726_400,
  model: "gpt-4o-2024-08-06",
  choices: [{
    index: 0,
    message: {
      role: "assistant",
      content: "The invoice is due on Friday.",
      refusal: null,
      annotations: [],
    },
    logprobs: null,
    finish_reason: "stop",
  }],
  usage: {
    prompt_tokens: 1_200,
    completion_tokens: 300,
    total_tokens: 1_500,
    prompt_tokens_details: { cached_tokens: 1_024, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  },
  service_tier: "default",
  system_fingerprint: "fp_07871e2ad8",
};

/** `POST /v1/responses` of OpenAI. */
export const OPENAI_RESPONSES = {
  id: "resp_69205f80c0b48190a4b2a4d6a0b1c2d3",
  object: "response",
  created_at: 1_763_726_400,
  status: "completed",
  error: null,
  incomplete_details: null,
  instructions: null,
  model: "gpt-5-2025-08-07",
  output: [
    { id: "rs_1", type: "reasoning", summary: [] },
    {
      id: "msg_1",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "Paid.", annotations: [] }],
    },
  ],
  parallel_tool_calls: true,
  service_tier: "default",
  usage: {
    input_tokens: 2_000,
    input_tokens_details: { cached_tokens: 1_536 },
    output_tokens: 700,
    output_tokens_details: { reasoning_tokens: 512 },
    total_tokens: 2_700,
  },
  metadata: {},
};

/** `POST /v1/embeddings` of OpenAI. */
export const OPENAI_EMBEDDINGS = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [0.0023064255, -0.009327292] }],
  model: "text-embedding-3-small",
  usage: { prompt_tokens: 8, total_tokens: 8 },
};

/** `POST /v1/messages` of Anthropic. */
export const ANTHROPIC_MESSAGES = {
  id: "msg_01XFDUDYJgAACzvnptvVoYEL",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5-20250929",
  content: [{ type: "text", text: "The invoice is due on Friday." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: {
    input_tokens: 12,
    cache_creation_input_tokens: 500,
    cache_read_input_tokens: 2_000,
    cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 200 },
    output_tokens: 100,
    service_tier: "standard",
  },
};

/** `POST /v1beta/models/…:generateContent` of Gemini. */
export const GEMINI_GENERATE = {
  candidates: [{
    content: { parts: [{ text: "The invoice is due on Friday." }], role: "model" },
    finishReason: "STOP",
    index: 0,
  }],
  usageMetadata: {
    promptTokenCount: 1_000,
    cachedContentTokenCount: 600,
    candidatesTokenCount: 200,
    toolUsePromptTokenCount: 50,
    thoughtsTokenCount: 300,
    totalTokenCount: 1_550,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: 1_000 }],
    cacheTokensDetails: [{ modality: "TEXT", tokenCount: 600 }],
  },
  modelVersion: "gemini-2.5-pro",
  responseId: "gF8gaZ2pL8vVxN8P5Y2QqAk",
};

/** `POST /v1/chat/completions` of Mistral. */
export const MISTRAL_CHAT = {
  id: "cmpl-e5cc70bb28c444948073e77776eb30ef",
  object: "chat.completion",
  model: "mistral-large-2512",
  created: 1_763_726_400,
  choices: [{
    index: 0,
    message: { role: "assistant", tool_calls: null, content: "On Friday.", prefix: false },
    finish_reason: "stop",
  }],
  usage: {
    prompt_tokens: 100,
    total_tokens: 120,
    completion_tokens: 20,
    prompt_tokens_details: { cached_tokens: 64 },
  },
};

/** `POST /v2/chat` of Cohere, which does not name the model. */
export const COHERE_CHAT_V2 = {
  id: "c14c80c3-18eb-4519-9460-6c92edd8cfb4",
  finish_reason: "COMPLETE",
  message: { role: "assistant", content: [{ type: "text", text: "On Friday." }] },
  usage: {
    billed_units: { input_tokens: 5, output_tokens: 418 },
    tokens: { input_tokens: 71, output_tokens: 420 },
  },
};

/** `POST /v1/chat` of Cohere, which does not name the model. */
export const COHERE_CHAT_V1 = {
  response_id: "6e1c3a41-2e6a-4f3a-93c0-0a6f2a2b7f6f",
  generation_id: "b5b5b5b5-1111-4444-8888-0f0f0f0f0f0f",
  text: "On Friday.",
  finish_reason: "COMPLETE",
  meta: {
    api_version: { version: "1" },
    billed_units: { input_tokens: 10, output_tokens: 20 },
    tokens: { input_tokens: 76, output_tokens: 20 },
  },
};
