export * from "npm:@opentelemetry/exporter-trace-otlp-http@0.223.1";
