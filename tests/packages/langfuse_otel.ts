export * from "npm:@langfuse/otel@5.11.1";
