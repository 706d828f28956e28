/** Runs an agent of the Vercel AI SDK with a mock model, and sends its spans. */
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { OpenTelemetry } from "@ai-sdk/otel";
import { generateText, isStepCount, jsonSchema, registerTelemetry, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";

const provider = new BasicTracerProvider({
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
trace.setGlobalTracerProvider(provider);
registerTelemetry(new OpenTelemetry());

const usage = {
  inputTokens: { total: 1200, noCache: 176, cacheRead: 1024, cacheWrite: 0 },
  outputTokens: { total: 340, text: 340, reasoning: 0 },
};
const call = {
  type: "tool-call",
  toolCallId: "c1",
  toolName: "weather",
  input: '{"city":"Paris"}',
};
const answer = { type: "text", text: "It rains in Paris." };
const answers = [
  { content: [call], finishReason: { unified: "tool-calls", raw: "tool_calls" } },
  { content: [answer], finishReason: { unified: "stop", raw: "stop" } },
];
await generateText({
  model: new MockLanguageModelV4({
    provider: "openai",
    modelId: "gpt-4o",
    doGenerate: () => Promise.resolve({ ...answers.shift(), usage, warnings: [] } as never),
  }),
  prompt: "weather in Paris?",
  stopWhen: isStepCount(3),
  tools: {
    weather: tool({
      inputSchema: jsonSchema<{ city: string }>({
        type: "object",
        properties: { city: { type: "string" } },
      }),
      execute: ({ city }) => `rain in ${city}`,
    }),
  },
  telemetry: { functionId: "my-agent" },
});
await provider.shutdown();
