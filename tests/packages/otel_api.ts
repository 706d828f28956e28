export * from "npm:@opentelemetry/api@1.9.1";
