// Observations by Langfuse's SDK.
export * from "npm:@langfuse/tracing@5.11.1";
