// The spans of `ai`.
export * from "npm:@ai-sdk/otel@1.0.173";
