// The mock model of `ai`.
export * from "npm:ai@7.0.173/test";
