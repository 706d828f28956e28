// The exporter that most JavaScript programs have, in JSON.
export * from "npm:@opentelemetry/exporter-trace-otlp-http@0.223.1";
