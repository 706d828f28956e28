// Langfuse's exporter, which sends to a path of its own.
export * from "npm:@langfuse/otel@5.11.1";
