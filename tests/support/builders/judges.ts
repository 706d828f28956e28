/** Judges for tests. */
import type { Judge, JudgeSettings } from "../../../domain/judges/judge.ts";

/** A judge of all runs that have an output. */
export function aJudge(fields: Partial<JudgeSettings> = {}): JudgeSettings {
  return {
    connection: "local",
    model: "m",
    rubric: "Score how far {{output}} reaches {{goal}}.",
    result: { type: "score", min: 1, max: 5 },
    passAt: 0.7,
    agents: ["*"],
    kinds: ["run", "heartbeat"],
    statuses: ["success", "failed", "timeout", "cancelled"],
    features: [],
    sample: 1,
    dailyUsd: 1,
    maxOutputTokens: 100,
    enabled: true,
    description: null,
    ...fields,
  };
}

export function storedJudge(slug: string, fields: Partial<JudgeSettings> = {}): Judge {
  const settings = aJudge(fields);
  return {
    slug,
    id: `jdg_eu_${slug}`,
    version: 1,
    settings,
    createdAt: 0,
    updatedAt: 0,
    updatedBy: "key_eu_1",
  };
}

/** Body of an answer of chat completions. */
export function completion(
  content: unknown,
  usage: { readonly prompt: number; readonly completion: number } | null = null,
): string {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const message = { role: "assistant", content: text };
  return JSON.stringify({
    choices: [{ index: 0, finish_reason: "stop", message }],
    ...usage === null
      ? {}
      : { usage: { prompt_tokens: usage.prompt, completion_tokens: usage.completion } },
  });
}
