export * from "npm:@opentelemetry/sdk-trace-base@2.12.1";
