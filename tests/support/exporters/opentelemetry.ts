/** Sends the spans of one call by OpenTelemetry's own exporter, as JSON or protobuf; set by its environment. */
import { diag, DiagLogLevel, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const [encoding] = Deno.args;
const print = (...values: unknown[]) =>
  void Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(values)));
diag.setLogger(
  { error: print, warn: print, info() {}, debug() {}, verbose() {} },
  DiagLogLevel.WARN,
);
const exporter = encoding === "json" ? new JsonExporter() : new ProtobufExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
const tracer = provider.getTracer("@opentelemetry/instrumentation-openai");
const attributes = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "gpt-4o",
  "gen_ai.response.model": "gpt-4o-2024-08-06",
  "gen_ai.usage.input_tokens": 1200,
  "gen_ai.usage.output_tokens": 300,
};
for (const failure of [null, "the model is overloaded"]) {
  const span = tracer.startSpan("chat gpt-4o", { kind: SpanKind.CLIENT, attributes });
  if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
  span.end();
}
// The service rejects this one: it has no instant.
tracer.startSpan("chat gpt-4o", { attributes, startTime: [0, 0] }).end([0, 1]);
await provider.shutdown();
