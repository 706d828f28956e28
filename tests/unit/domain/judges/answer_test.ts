/** Answers of models. */
import { assertEquals } from "@std/assert";
import { errorCodeIn, readAnswer, REASONING_CHARS_MAX } from "../../../../domain/judges/answer.ts";
import { parseConnections } from "../../../../domain/judges/connection.ts";
import { aJudge, completion } from "../../../support/builders/judges.ts";

const SCALE = aJudge();
const BOOLEAN = aJudge({ result: { type: "boolean" } });

Deno.test("answer: a value becomes a score from 0 to 1, which passes from pass_at on", () => {
  const result = readAnswer(completion({ reasoning: "because", value: 4 }), SCALE)?.result;
  assertEquals(result, { value: 4, score: 0.75, passed: true, reasoning: "because" });
  const low = readAnswer(completion({ reasoning: "", value: 1 }), SCALE)?.result;
  assertEquals(low, { value: 1, score: 0, passed: false, reasoning: "" });
  const no = readAnswer(completion({ reasoning: "", value: false }), BOOLEAN)?.result;
  assertEquals(no, { value: false, score: 0, passed: false, reasoning: "" });
  const fenced = "```json\n" + JSON.stringify({ reasoning: "r", value: true }) + "\n```";
  assertEquals(readAnswer(completion(fenced), BOOLEAN)?.result, {
    value: true,
    score: 1,
    passed: true,
    reasoning: "r",
  });
  const long = readAnswer(completion({ reasoning: "é".repeat(5_000), value: 5 }), SCALE)?.result;
  assertEquals(typeof long === "object" ? long.reasoning.length : 0, REASONING_CHARS_MAX);
});

Deno.test("answer: each problem has its name", () => {
  const problemOf = (body: string, settings = SCALE) => readAnswer(body, settings)?.result;
  const choice = (fields: object) => JSON.stringify({ choices: [fields] });
  assertEquals(problemOf(choice({ message: { refusal: "no" } })), "refusal");
  assertEquals(problemOf(choice({ finish_reason: "content_filter" })), "refusal");
  assertEquals(problemOf(choice({ finish_reason: "length", message: { content: "{" } })), "length");
  assertEquals(problemOf(choice({ message: { content: null } })), "no_content");
  for (const body of ["{}", '{"choices":7}', '{"choices":[null]}']) {
    assertEquals(problemOf(body), "no_content");
  }
  for (const body of ["", "[]", "<html>", completion("x").slice(0, -1)]) {
    assertEquals(readAnswer(body, SCALE), null);
  }
  assertEquals(problemOf(completion("4")), "bad_json");
  assertEquals(problemOf(completion([1])), "bad_json");
  assertEquals(problemOf(completion({ value: 4 })), "bad_reasoning");
  for (const value of [0, 5.1, "4", null, true, [4]]) {
    assertEquals(problemOf(completion({ reasoning: "", value })), "bad_value");
  }
  assertEquals(problemOf(completion({ reasoning: "", value: 1 }), BOOLEAN), "bad_value");
});

Deno.test("answer: counts that are no counts are none", () => {
  const tokensOf = (usage: unknown) =>
    readAnswer(JSON.stringify({ choices: [], usage }), SCALE)?.tokens;
  assertEquals(
    tokensOf({
      prompt_tokens: 7,
      completion_tokens: 3,
      prompt_tokens_details: { cached_tokens: 2 },
    }),
    { inputTokens: 7, outputTokens: 3, cachedInputTokens: 2, cacheWriteTokens: 0 },
  );
  for (
    const usage of [
      undefined,
      {},
      { prompt_tokens: 1 },
      { prompt_tokens: -1, completion_tokens: 1 },
      { prompt_tokens: 1.5, completion_tokens: 1 },
      { prompt_tokens: "1", completion_tokens: 1 },
      { prompt_tokens: 1, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 2 } },
    ]
  ) assertEquals(tokensOf(usage), null);
});

Deno.test("answer: of an error only a plain code is kept", () => {
  const codeOf = (error: unknown) => errorCodeIn(JSON.stringify({ error }));
  assertEquals(codeOf({ code: "insufficient_quota", message: "sk-secret" }), "insufficient_quota");
  assertEquals(codeOf({ code: null, type: "server_error" }), "server_error");
  assertEquals(codeOf({ code: "Bearer sk-secret" }), null);
  assertEquals(codeOf({ code: "x".repeat(65) }), null);
  assertEquals(codeOf("text"), null);
  assertEquals(errorCodeIn("<html>"), null);
});

Deno.test("connections: names, base URLs and variables", () => {
  const text = "openai=https://api.openai.com/v1,OPENAI_API_KEY local=http://127.0.0.1:11434/v1/";
  assertEquals(parseConnections(text), [
    {
      name: "openai",
      url: "https://api.openai.com/v1/chat/completions",
      keyVariable: "OPENAI_API_KEY",
      outputLimit: "max_completion_tokens",
    },
    {
      name: "local",
      url: "http://127.0.0.1:11434/v1/chat/completions",
      keyVariable: null,
      outputLimit: "max_tokens",
    },
  ]);
  assertEquals(parseConnections(""), []);
  for (
    const wrong of [
      "openai",
      "openai=",
      "Open=https://x",
      "a=ftp://x",
      "a=https://u:p@x",
      "a=https://x?k=1",
      "a=https://x,sk-123",
      "a=https://x a=https://y",
    ]
  ) assertEquals(parseConnections(wrong), null, wrong);
});
