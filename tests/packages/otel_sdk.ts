// Makes spans and sends them in batches.
export * from "npm:@opentelemetry/sdk-trace-base@2.12.1";
