/** Sends observations by Langfuse's SDK, which adds its own path to the host of its environment. */
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { setLangfuseTracerProvider, startObservation } from "@langfuse/tracing";

const provider = new BasicTracerProvider({ spanProcessors: [new LangfuseSpanProcessor()] });
setLangfuseTracerProvider(provider);
const agent = startObservation("my-agent", { input: "weather in Paris?" }, { asType: "agent" });
agent.startObservation("weather", { input: { city: "Paris" }, output: "rain" }, { asType: "tool" })
  .end();
agent.startObservation("OpenAI.chat", {
  model: "gpt-4o",
  input: [{ role: "user", content: "weather in Paris?" }],
  output: { role: "assistant", content: "It rains in Paris." },
  usageDetails: { input: 176, input_cached_tokens: 1024, output: 340 },
}, { asType: "generation" }).end();
agent.update({ output: "It rains in Paris." }).end();
await provider.forceFlush();
await provider.shutdown();
