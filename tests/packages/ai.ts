// The Vercel AI SDK, whose agent with a mock model sends its spans.
export * from "npm:ai@7.0.173";
