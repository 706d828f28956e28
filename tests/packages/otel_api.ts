// The interface of OpenTelemetry, as an instrumented program uses it.
export * from "npm:@opentelemetry/api@1.9.1";
