/**
 * Reads the messages of a model call from the usual shapes of providers: OpenAI chat completions and
 * responses, Anthropic messages, Gemini contents, and plain texts; and from those of instrumentations:
 * the parts of OpenTelemetry, the messages of LangChain and of the Vercel AI SDK, and requests as sent.
 *
 * @module
 */
import { isObject, nestsDeeperThan } from "../core/raw_json.ts";
import { JSON_DEPTH_MAX } from "../core/limits.ts";
import type { JsonFields } from "../core/body.ts";

/** Part of a message. */
export type ChatPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "note"; readonly text: string }
  | { readonly kind: "value"; readonly value: unknown }
  | {
    readonly kind: "call";
    readonly id: string | null;
    readonly name: string;
    readonly input: unknown;
    /** Result of the call; absent until one is found. */
    readonly result?: unknown;
  }
  | { readonly kind: "result"; readonly id: string | null; readonly value: unknown };

/** A message of a conversation. */
export interface ChatMessage {
  /** `system`, `user`, `assistant`, `tool`, or another role as sent. */
  readonly role: string;
  /** Contents in order. */
  readonly parts: readonly ChatPart[];
}

/** Messages of a call: sent ones, then the answer. */
export interface Chat {
  /** Messages sent to the model. */
  readonly input: readonly ChatMessage[];
  /** Messages of the answer. */
  readonly output: readonly ChatMessage[];
}

/** Maximum messages that are read: the last ones sent, and the first ones of the answer. */
const MESSAGES_MAX = 200;

/** Maximum elements of a list that are read: more are never shown. */
const LIST_MAX = 500;

/** Members that hold what was sent to the model, and its answer; the first present one is read. */
const INPUTS = ["messages", "input", "contents", "prompt", "question"] as const;
const OUTPUTS = [
  ["choices", "candidates", "output", "response", "completion", "message"],
  ["content", "text", "answer", "result"],
].flat();

/** Reads the messages of a model call's data, with the result of each tool call that has one. */
export function chatOf(data: JsonFields): Chat {
  // Instrumentations send the complete request as what went in.
  const isWhole = isRequest(data.input);
  const request = isWhole ? data.input as JsonFields : isObject(data.request) ? data.request : {};
  const system = [data, request].flatMap((of) => [of.system, of.systemInstruction, of.instructions])
    .find(isPresent);
  const sent = INPUTS.map((name) => isWhole ? request[name] : data[name] ?? request[name])
    .find(isPresent);
  const answer = OUTPUTS.map((name) => data[name]).find(isPresent);
  const messages = [
    ...isPresent(system) ? messagesOf(system, "system") : [],
    ...isPresent(sent) ? messagesOf(sent, "user") : [],
  ];
  const output = isPresent(answer) ? messagesOf(answer, "assistant") : [];
  const paired = pairResults([...messages, ...withCalls(data, output)]);
  // Results and calls may join messages, so the answer is what follows the last of the input.
  const first = paired.length - withCalls(data, output).length;
  return {
    input: paired.slice(0, first).slice(-MESSAGES_MAX),
    output: paired.slice(first).slice(0, MESSAGES_MAX),
  };
}

function isRequest(value: unknown): boolean {
  return isObject(value) && value.role === undefined &&
    INPUTS.some((name) => Array.isArray(value[name]));
}

/** Adds tool calls that stand beside the text of an answer. */
function withCalls(data: JsonFields, output: readonly ChatMessage[]): readonly ChatMessage[] {
  const calls = callsOf(data.tool_calls);
  if (calls.length === 0) return output;
  const [first, ...others] = output;
  if (first === undefined) return [{ role: "assistant", parts: calls }];
  return [{ ...first, parts: [...first.parts, ...calls] }, ...others];
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" &&
    !(Array.isArray(value) && value.length === 0);
}

function messagesOf(value: unknown, role: string): ChatMessage[] {
  if (!Array.isArray(value)) return [messageOf(value, role)];
  // A batch of one conversation.
  if (value.length === 1 && Array.isArray(value[0]) && !isPair(value[0])) {
    return messagesOf(value[0], role);
  }
  const list = role === "user" ? value.slice(-LIST_MAX) : value.slice(0, LIST_MAX);
  const isParts = list.every((item) => isObject(item) && item.role === undefined && isPart(item));
  if (isParts) return [{ role, parts: list.flatMap(partsOf) }];
  return list.map((item) => messageOf(item, role)).filter(({ parts }) => parts.length > 0);
}

/** Returns whether an item is part of a message, not a message. */
function isPart(item: JsonFields): boolean {
  const { type } = item;
  if (typeof type === "string") return PART_TYPES.has(type);
  return "functionCall" in item || "toolCallId" in item || "text" in item && !("message" in item);
}

const PART_TYPES: ReadonlySet<string> = new Set([
  ...["text", "input_text", "output_text", "thinking", "image", "image_url", "input_image"],
  ...["tool_use", "tool_result", "reasoning"],
]);

function messageOf(sent: unknown, role: string): ChatMessage {
  const value = unwrapped(sent);
  if (!isObject(value)) return { role, parts: partsOf(value) };
  // A choice or candidate holds the message.
  const inner = value.message ?? (isObject(value.content) ? value.content : undefined);
  if (isObject(inner)) return messageOf(inner, role);
  // An answer may hold choices or output items itself.
  for (const name of ["choices", "candidates", "output", "generations"]) {
    const list = value[name];
    if (Array.isArray(list) && list.length > 0) {
      return { role, parts: messagesOf(list, role).flatMap(({ parts }) => parts) };
    }
  }
  // The state of a graph: its last message is the answer.
  if (role === "assistant" && value.role === undefined && Array.isArray(value.messages)) {
    return messageOf(value.messages.at(-1), role);
  }
  const own = value.role ?? (value.type === "function_call" ? "assistant" : undefined) ??
    (value.type === "function_call_output" ? "tool" : undefined);
  const name = typeof own === "string" ? ROLES.get(own) ?? own : role;
  const callId = textOf(value.tool_call_id);
  const hasParts = Array.isArray(value.parts ?? value.content);
  if (callId !== null || name === "tool" && value.type === undefined && !hasParts) {
    return { role: "tool", parts: [{ kind: "result", id: callId, value: value.content }] };
  }
  const content = value.content ?? value.parts ?? value.text ?? value.summary;
  if (Array.isArray(content) && content.length === 0 && typeof own === "string") {
    return { role: name, parts: callsOf(value.tool_calls) };
  }
  const parts = [...isPresent(content) ? partsOf(content) : [], ...callsOf(value.tool_calls)];
  return { role: name, parts: parts.length > 0 ? parts : partsOf(value) };
}

/** Returns a message of LangChain without its wrapping; other values as they are. */
function unwrapped(value: unknown): unknown {
  if (isPair(value)) return { role: value[0], content: value[1] };
  if (!isObject(value)) return value;
  const { kwargs, id, type, data } = value;
  if (value.lc !== undefined && isObject(kwargs) && Array.isArray(id)) {
    const kind = /^(Human|AI|System|Tool)Message/.exec(String(id.at(-1)))?.[1]?.toLowerCase();
    return kind === undefined ? value : { ...kwargs, role: kind };
  }
  if (typeof type !== "string" || !MESSAGE_TYPES.has(type) || value.role !== undefined) {
    return value;
  }
  return { ...isObject(data) ? data : value, type: undefined, role: type };
}

/** Returns whether a value is a message as LangChain also accepts one: its role and its text. */
function isPair(value: unknown): value is [string, string] {
  return Array.isArray(value) && value.length === 2 && typeof value[1] === "string" &&
    (value[0] === "user" || value[0] === "assistant" || MESSAGE_TYPES.has(value[0]));
}

/** Types of LangChain's messages, which are their roles. */
const MESSAGE_TYPES: ReadonlySet<string> = new Set(["human", "ai", "system", "tool"]);

/** Roles with another name at some provider. */
const ROLES = new Map([["model", "assistant"], ["developer", "system"], ["human", "user"], [
  "ai",
  "assistant",
], ["function", "tool"]]);

function partsOf(value: unknown): ChatPart[] {
  if (Array.isArray(value)) return value.slice(0, LIST_MAX).flatMap(partsOf);
  if (typeof value === "string") return [{ kind: "text", text: value }];
  if (!isObject(value)) return [{ kind: "text", text: JSON.stringify(value) }];
  const { type } = value;
  if (typeof type === "string" && RESULT_TYPES.has(type)) {
    const id = textOf(value.tool_use_id ?? value.call_id ?? value.toolCallId ?? value.id);
    const result = value.content ?? value.output ?? value.result ?? value.response;
    return [{ kind: "result", id, value: result }];
  }
  const callId = value.call_id ?? value.toolCallId ?? value.id;
  if (typeof type === "string" && CALL_TYPES.has(type) || value.toolCallId !== undefined) {
    const input = value.input ?? value.arguments ?? value.args;
    return [callPart(callId, value.name ?? value.toolName, input)];
  }
  if (isObject(value.functionCall)) {
    const { name, args, id } = value.functionCall;
    return [callPart(id, name, args)];
  }
  if (isObject(value.functionResponse)) {
    const { name, response, id } = value.functionResponse;
    return [{ kind: "result", id: textOf(id ?? name), value: response }];
  }
  if (typeof value.text === "string") return [{ kind: "text", text: value.text }];
  if (typeof value.content === "string" && (type === "text" || type === "reasoning")) {
    return [{ kind: type === "text" ? "text" : "note", text: value.content }];
  }
  if (typeof value.thinking === "string") return [{ kind: "note", text: value.thinking }];
  if (typeof type === "string" && NOT_SHOWN.test(type)) {
    return [{ kind: "note", text: `${type}, not shown` }];
  }
  return [{ kind: "value", value }];
}

/** Types of parts that call a tool, and of those with its result. */
const CALL_TYPES: ReadonlySet<string> = new Set([
  ...["tool_use", "function_call", "tool_call", "tool-call"],
]);
const RESULT_TYPES: ReadonlySet<string> = new Set([
  ...["tool_result", "function_call_output", "tool_call_response", "tool-result"],
]);

/** Types of parts that are no text. */
const NOT_SHOWN = /image|audio|file|video|document|redacted/;

function callsOf(value: unknown): ChatPart[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, LIST_MAX).filter(isObject).map((call) => {
    const of = isObject(call.function) ? call.function : call;
    return callPart(call.id, of.name, of.arguments ?? of.args ?? of.input);
  });
}

function callPart(id: unknown, name: unknown, input: unknown): ChatPart {
  return { kind: "call", id: textOf(id), name: textOf(name) ?? "tool", input: decoded(input) };
}

/** Parses values that are sent as the text of an object or a list; deep ones stay text. */
export function decoded(input: unknown): unknown {
  if (typeof input !== "string" || !/^\s*[{[]/.test(input)) return input;
  if (nestsDeeperThan(input, JSON_DEPTH_MAX)) return input;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** Moves the result of each tool call to the call, and drops messages that are then empty. */
function pairResults(messages: readonly ChatMessage[]): ChatMessage[] {
  const results = new Map<string, unknown>();
  const calls = new Set<string>();
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.kind === "result" && part.id !== null) results.set(part.id, part.value);
      if (part.kind === "call" && part.id !== null) calls.add(part.id);
    }
  }
  return messages.flatMap(({ role, parts }) => {
    const left = parts.flatMap((part): ChatPart[] => {
      if (part.kind === "result") return part.id !== null && calls.has(part.id) ? [] : [part];
      if (part.kind !== "call" || part.id === null || !results.has(part.id)) return [part];
      return [{ ...part, result: results.get(part.id) }];
    });
    return left.length === 0 && parts.length > 0 ? [] : [{ role, parts: left }];
  });
}

/** A tool call: its arguments and its result. */
export interface ToolUse {
  /** Id that its model call and its result share; null if absent. */
  readonly id: string | null;
  /** Arguments; undefined if absent. */
  readonly input: unknown;
  /** Result; undefined if absent. */
  readonly result: unknown;
}

/** Reads a tool call from the data of its event. */
export function toolUseOf(data: JsonFields): ToolUse {
  const of = isObject(data.function) ? data.function : data;
  const first = (names: readonly string[]) =>
    names.map((name) => data[name] ?? of[name]).find((value) => value !== undefined);
  const result = decoded(
    first(["result", "output", "response", "observation", "content", "return"]),
  );
  // LangChain wraps the result in a message.
  const message = unwrapped(isObject(result) && isObject(result.output) ? result.output : result);
  return {
    id: textOf(
      data.tool_call_id ?? data.call_id ?? data.tool_use_id ?? data.tool_invocation_id ?? data.id,
    ),
    input: decoded(
      first(["arguments", "args", "input", "parameters", "params", "command", "action"]),
    ),
    result: isObject(message) && message.role === "tool" ? message.content : result,
  };
}
