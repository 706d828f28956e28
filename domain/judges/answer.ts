/**
 * The answer of a model: read, and checked (decision 95).
 *
 * @module
 */
import { isObject } from "../core/raw_json.ts";
import type { CallTokens } from "../pricing/rates.ts";
import type { JudgeScale, JudgeSettings } from "./judge.ts";

/** Judgement of a run by a model. */
export interface Judgement {
  /** Value as given. */
  readonly value: number | boolean;
  /** Value on a scale from 0 to 1. */
  readonly score: number;
  /** True if the score is at least `pass_at`. */
  readonly passed: boolean;
  /** The model's words. */
  readonly reasoning: string;
}

/** Problems of an answer, each with the words that the next try sends. */
export const ANSWER_PROBLEMS = {
  refusal: "you refused",
  length: "it was cut at the maximum of output tokens",
  no_content: "it had no text",
  bad_json: "it was not one JSON object",
  bad_reasoning: '"reasoning" was not a text',
  bad_value: '"value" was not as the system message says',
} as const;

/** One of {@link ANSWER_PROBLEMS}. */
export type AnswerProblem = keyof typeof ANSWER_PROBLEMS;

/** An answer with the status 200. */
export interface Answer {
  /** Its judgement, or why it has none. */
  readonly result: Judgement | AnswerProblem;
  /** Tokens as counted by the provider; null without counts. */
  readonly tokens: CallTokens | null;
}

/** Maximum characters of a stored reasoning. */
export const REASONING_CHARS_MAX = 2_000;

/** Reads the body of an answer of chat completions; null if it is no JSON object, as one that is cut. */
export function readAnswer(
  body: string,
  settings: Pick<JudgeSettings, "result" | "passAt">,
): Answer | null {
  const answer = objectIn(body);
  if (answer === null) return null;
  const { choices, usage } = answer;
  const choice = Array.isArray(choices) ? recordOf(choices[0]) : null;
  return { result: resultOf(choice, settings), tokens: tokensOf(recordOf(usage)) };
}

function resultOf(
  choice: JsonRecord | null,
  settings: Pick<JudgeSettings, "result" | "passAt">,
): Judgement | AnswerProblem {
  const message = recordOf(choice?.message);
  if (typeof message?.refusal === "string" && message.refusal !== "") return "refusal";
  if (choice?.finish_reason === "content_filter") return "refusal";
  if (choice?.finish_reason === "length") return "length";
  const content = message?.content;
  if (typeof content !== "string" || content.trim() === "") return "no_content";
  const fenced = /^\s*```(?:json)?\s*([^]*?)\s*```\s*$/.exec(content)?.[1];
  const given = objectIn(fenced ?? content);
  if (given === null) return "bad_json";
  const { reasoning, value } = given;
  if (typeof reasoning !== "string") return "bad_reasoning";
  const score = scoreOf(value, settings.result);
  if (score === null) return "bad_value";
  return {
    value: value as number | boolean,
    score,
    passed: score >= settings.passAt,
    reasoning: Array.from(reasoning.toWellFormed()).slice(0, REASONING_CHARS_MAX).join(""),
  };
}

/** Returns a value on a scale from 0 to 1; null if it is not on its scale. */
function scoreOf(value: unknown, scale: JudgeScale): number | null {
  if (scale.type === "boolean") return typeof value === "boolean" ? Number(value) : null;
  const { min, max } = scale;
  if (typeof value !== "number" || !(value >= min && value <= max)) return null;
  return (value - min) / (max - min);
}

/** Returns the counts of an answer; null if any of them is no count. */
function tokensOf(usage: JsonRecord | null): CallTokens | null {
  const details = recordOf(usage?.prompt_tokens_details);
  const counts = [usage?.prompt_tokens, usage?.completion_tokens, details?.cached_tokens ?? 0];
  if (!counts.every((count) => Number.isSafeInteger(count) && Number(count) >= 0)) return null;
  const [inputTokens = 0, outputTokens = 0, cachedInputTokens = 0] = counts as number[];
  // More cached tokens than tokens would be added to them.
  if (cachedInputTokens > inputTokens) return null;
  return { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens: 0 };
}

/** Code of a provider's error that is kept; nothing else of it is (decision 100). */
const ERROR_CODE = /^[a-z0-9_.-]{1,64}$/;

/** Returns the code of an error; null if it has none that may be kept. */
export function errorCodeIn(body: string): string | null {
  const error = recordOf(objectIn(body)?.error);
  const codes = [error?.code, error?.type];
  return codes.find((code): code is string => typeof code === "string" && ERROR_CODE.test(code)) ??
    null;
}

type JsonRecord = Readonly<Record<string, unknown>>;

function objectIn(text: string): JsonRecord | null {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    return null;
  }
}

function recordOf(value: unknown): JsonRecord | null {
  return isObject(value) ? value : null;
}
