// The same in protobuf.
export * from "npm:@opentelemetry/exporter-trace-otlp-proto@0.223.1";
