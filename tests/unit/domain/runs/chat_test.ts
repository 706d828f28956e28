import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { complete } from "../../../../domain/core/steps.ts";
import { attributeFilter, checkSpans } from "../../../../domain/otlp/span.ts";
import { type Chat, chatOf, toolUseOf } from "../../../../domain/runs/chat.ts";
import { readProtobuf } from "../../../../routes/otlp/protobuf.ts";
import { recordedExport, runsOf, spansOf } from "../../../support/builders/spans.ts";

/** A chat in few words: `user: text`, calls as `name(input) = result`. */
function outline({ input, output }: Chat): string[] {
  const line = (mark: string) => ({ role, parts }: Chat["input"][number]) =>
    `${mark}${role}: ${
      parts.map((part) => {
        if (part.kind === "call") {
          const result = "result" in part ? ` = ${JSON.stringify(part.result)}` : "";
          return `${part.name}(${JSON.stringify(part.input)})${result}`;
        }
        return "value" in part ? `= ${JSON.stringify(part.value)}` : part.text;
      }).join(" | ")
    }`;
  return [...input.map(line("")), ...output.map(line("> "))];
}

/** Requests and answers in the forms of providers, each with its outline. */
const FORMS: Record<string, readonly [data: Record<string, unknown>, outline: readonly string[]]> =
  {
    "OpenAI completions, with the tool result beside its call": [{
      messages: [
        { role: "developer", content: "Be brief." },
        {
          role: "user",
          content: [{ type: "text", text: "Hi" }, { type: "image_url", image_url: {} }],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", function: { name: "find", arguments: '{"q":"x"}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "found" },
      ],
      choices: [{ index: 0, message: { role: "assistant", content: "Done" } }],
    }, [
      "system: Be brief.",
      "user: Hi | image_url, not shown",
      'assistant: find({"q":"x"}) = "found"',
      "> assistant: Done",
    ]],
    "OpenAI responses": [{
      instructions: "Be brief.",
      input: [
        { role: "user", content: "Hi" },
        { type: "function_call", call_id: "c1", name: "find", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: "found" },
      ],
      output: [{
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "Ok" }],
      }],
    }, ["system: Be brief.", "user: Hi", 'assistant: find({}) = "found"', "> assistant: Ok"]],
    "Anthropic messages": [{
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        { role: "user", content: "Hi" },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "t1", name: "find", input: { q: 1 } }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "found" }] },
      ],
      content: [{ type: "thinking", thinking: "hm" }, { type: "text", text: "Done" }],
    }, [
      "system: Be brief.",
      "user: Hi",
      'assistant: find({"q":1}) = "found"',
      "> assistant: hm | Done",
    ]],
    "Gemini contents": [{
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      candidates: [{
        content: { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] },
      }],
    }, ["system: Be brief.", "user: Hi", "> assistant: f({})"]],
    "plain texts": [{ prompt: "Hi", text: "Done" }, ["user: Hi", "> assistant: Done"]],
    "a request with its response": [{
      request: { messages: [{ role: "user", content: "Hi" }] },
      response: { choices: [{ message: { role: "assistant", content: "Done" } }] },
    }, ["user: Hi", "> assistant: Done"]],
    "no message": [{ model: "m" }, []],
    "one pair of a role and a text": [{ input: { messages: [["human", "Hi"]] } }, ["user: Hi"]],
    "pairs of a role and a text": [{ input: { messages: [["human", "Hi"], ["ai", "Yes?"]] } }, [
      "user: Hi",
      "assistant: Yes?",
    ]],
  };

for (const [form, [data, expected]] of Object.entries(FORMS)) {
  Deno.test(`chat: ${form}`, () => assertEquals(outline(chatOf(data)), expected));
}

const ASKED = "user: weather in Paris?";
const CALLED = '> assistant: get_weather({"city":"Paris"})';
const RAINS = "> assistant: It rains in Paris.";

/** Messages of the first call that has some, in the recorded exports of products. */
const RECORDED: Readonly<Record<string, readonly string[]>> = {
  ai6: [ASKED, CALLED.replace("get_", "")],
  ai7: [ASKED, CALLED.replace("get_", "")],
  dbl: ["user: hello", RAINS],
  lf: ["user: weather?", RAINS],
  oi: ["user: weather?", RAINS],
  trl: ["user: weather?", RAINS],
  "py-agno": [ASKED, CALLED],
  "py-langfuse": [ASKED, CALLED],
  "py-langsmith-otel": [ASKED, CALLED.replace("get_", "")],
  "py-litellm": [ASKED],
  "py-logfire": [ASKED, CALLED],
  "py-mlflow": [ASKED, CALLED],
  "py-oi-langgraph": [ASKED, CALLED.replace("get_", "")],
  "py-oi-openai": [ASKED, CALLED],
  "py-openlit": [ASKED, CALLED],
  "py-phoenix": [ASKED, CALLED],
  "py-pydantic": [ASKED, CALLED],
  "py-traceloop": [ASKED, CALLED],
};

Deno.test("chat: instrumentations of OpenTelemetry, as recorded", async () => {
  const read: Record<string, readonly string[] | undefined> = {};
  for (const name of Object.keys(RECORDED)) {
    const events = runsOf(spansOf(await recordedExport(name))).flatMap(({ events }) => events);
    read[name] = events.filter(({ type }) => type === "llm_call")
      .map(({ data }) => outline(chatOf(JSON.parse(data))))
      .find(({ length }) => length > 0);
  }
  assertEquals(read, RECORDED);
});

/** Exports whose spans have the messages one by one, beside the request as one text. */
const ONE_BY_ONE = ["dbl", "oi", "py-agno", "py-oi-langgraph", "py-oi-openai", "py-phoenix"];

Deno.test("chat: the same calls by their messages one by one, as recorded", async () => {
  for (const name of ONE_BY_ONE) {
    const keepsAll = attributeFilter(true);
    const { body } = await recordedExport(name);
    const useOf = (key: string) => !/^(?:input|output)\.value$/.test(key) && keepsAll(key);
    const { spans } = checkSpans(complete(readProtobuf(body, useOf)));
    const [first] = runsOf(spans).flatMap(({ events }) => events)
      .filter(({ type }) => type === "llm_call")
      .map(({ data }) => outline(chatOf(JSON.parse(data))))
      .filter(({ length }) => length > 0);
    assertEquals(first, RECORDED[name], name);
  }
});

Deno.test("chat: results of tools as OpenTelemetry, LangChain and the AI SDK send them", () => {
  const call = { id: "c1", name: "f", arguments: { a: 1 } };
  const expected = ['assistant: f({"a":1}) = "done"'];
  const otel = [
    { role: "assistant", parts: [{ type: "tool_call", ...call }] },
    { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: "done" }] },
  ];
  const langChain = [[
    { type: "ai", data: { content: "", tool_calls: [{ id: "c1", name: "f", args: { a: 1 } }] } },
    { lc: 1, id: ["x", "ToolMessage"], kwargs: { content: "done", tool_call_id: "c1" } },
  ]];
  const vercel = [
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "c1", toolName: "f", input: { a: 1 } }],
    },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", output: "done" }] },
  ];
  for (const input of [otel, langChain, vercel]) assertEquals(outline(chatOf({ input })), expected);
});

Deno.test("chat: any JSON is read without an error", () => {
  const names = [
    ...["messages", "input", "choices", "content", "role", "type", "tool_calls", "text"],
    ...["lc", "kwargs", "data", "generations", "parts", "toolCallId"],
  ];
  const tree = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, 1, "", "text", "tool_use", "tool_result", "function_call_output"),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names, "message", "id", "call_id"), tie("value")),
    ),
  })).value;
  fc.assert(fc.property(fc.dictionary(fc.constantFrom(...names), tree), (data) => {
    chatOf(data);
    toolUseOf(data);
  }));
});

Deno.test("tool: arguments and result by their usual names", () => {
  const use = toolUseOf({ call_id: "c1", arguments: '{"a":1}', output: { b: 2 } });
  assertEquals(use, { id: "c1", input: { a: 1 }, result: { b: 2 } });
  for (
    const output of [{ output: { type: "tool", content: "ok" } }, {
      type: "tool",
      data: { content: "ok" },
    }]
  ) {
    assertEquals(toolUseOf({ tool_invocation_id: "c2", output }).result, "ok");
  }
  assertEquals(toolUseOf({ function: { name: "f", arguments: "{}" } }).input, {});
});
