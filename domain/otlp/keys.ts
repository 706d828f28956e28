/**
 * Names of the attributes that the rules read. Values of all others are not even decoded.
 *
 * @module
 */

/** Prefixes of messages that are sent as one attribute a field, which name the list of them. */
export const MESSAGE_LISTS = {
  input: ["gen_ai.prompt.", "llm.input_messages."],
  output: ["gen_ai.completion.", "llm.output_messages."],
} as const;

/** Name of a list of messages. */
export type MessageListName = typeof MESSAGE_LISTS["input" | "output"][number];

/** Attributes with what was sent to a model, tool or agent, in order of precedence. */
export const INPUT_KEYS = [
  "gen_ai.input.messages",
  "input.value",
  "langfuse.observation.input",
  "traceloop.entity.input",
  "ai.prompt.messages",
  "ai.prompt",
  "gen_ai.tool.call.arguments",
  "ai.toolCall.args",
  "mlflow.spanInputs",
  "gen_ai.prompt",
  "user_prompt",
] as const;

/** Attributes with the answer, in order of precedence. */
export const OUTPUT_KEYS = [
  "gen_ai.output.messages",
  "output.value",
  "langfuse.observation.output",
  "traceloop.entity.output",
  "ai.response.text",
  "ai.response.toolCalls",
  "ai.response.object",
  "gen_ai.tool.call.result",
  "ai.toolCall.result",
  "mlflow.spanOutputs",
  "gen_ai.completion",
  "final_result",
] as const;

/** Attributes with the instructions of a model call. */
export const INSTRUCTION_KEYS = ["gen_ai.system_instructions"] as const;

/** Attributes with the message of a failure. */
export const ERROR_KEYS = [
  "langfuse.observation.status_message",
  "exception.message",
  "error.message",
] as const;

/** Names of the model, in order of precedence. */
export const MODEL_KEYS = [
  "langfuse.observation.model.name",
  "gen_ai.response.model",
  "llm.response.model_name",
  "llm.model_name",
  "embedding.model_name",
  "gen_ai.request.model",
  "ai.response.model",
  "ai.model.id",
  "mlflow.llm.model",
  "model",
] as const;

/** Names of the provider, in order of precedence. */
export const PROVIDER_KEYS = [
  "gen_ai.provider.name",
  "gen_ai.system",
  "llm.provider",
  "llm.system",
  "ls_provider",
  "ai.model.provider",
] as const;

/** Names of an agent, in order of precedence; the name of an entity counts for agents alone. */
export const AGENT_NAME_KEYS = [
  "gen_ai.agent.name",
  "agent.name",
  "traceloop.entity.name",
  "ai.telemetry.functionId",
  "langfuse.trace.name",
  "n8n.workflow.name",
  "gen_ai.workflow.name",
  "lc_agent_name",
] as const;

/** Names of a tool, in order of precedence. */
export const TOOL_NAME_KEYS = [
  "gen_ai.tool.name",
  "tool.name",
  "ai.toolCall.name",
  "tool_name",
  "traceloop.entity.name",
] as const;

/** Ids by which a model asks for a call of a tool. */
export const TOOL_ID_KEYS = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_use_id"] as const;

/** Attributes that name the kind of a span. */
export const KIND_KEYS = {
  vercel: "ai.operationId",
  claudeCode: "span.type",
  mlflow: "mlflow.spanType",
  langSmith: "langsmith.span.kind",
  langfuse: "langfuse.observation.type",
  openInference: "openinference.span.kind",
  genAi: "gen_ai.operation.name",
  traceloop: "traceloop.span.kind",
  requestType: "llm.request.type",
  logfire: "logfire.span_type",
} as const;

/** Prefixes of attributes that carry labels which the application chose. */
export const LABEL_PREFIXES = [
  "traceloop.association.properties.",
  "ai.telemetry.metadata.",
  "langfuse.trace.metadata.",
  "langsmith.metadata.",
] as const;

const CONTENT: ReadonlySet<string> = new Set([
  ...INPUT_KEYS,
  ...OUTPUT_KEYS,
  ...INSTRUCTION_KEYS,
  ...ERROR_KEYS,
]);

const READ: ReadonlySet<string> = new Set([
  ...CONTENT,
  ...MODEL_KEYS,
  ...PROVIDER_KEYS,
  ...AGENT_NAME_KEYS,
  ...TOOL_NAME_KEYS,
  ...TOOL_ID_KEYS,
  ...Object.values(KIND_KEYS),
  ...["error.type", "exception.type", "langfuse.observation.level", "success"],
  ...["logfire.msg_template", "name", "mcp.method.name", "output.mime_type"],
  ...["gen_ai.response.id", "ai.response.id", "gen_ai.response.finish_reasons"],
  ...["gen_ai.response.finish_reason", "llm.finish_reason", "ai.response.finishReason"],
  ...["gen_ai.completion.0.finish_reason"],
  ...["anthropic.message.stop_reason", "stop_reason", "gen_ai.request.stream"],
  ...["gen_ai.is_streaming", "llm.is_streaming", "gen_ai.response.time_to_first_chunk"],
  ...["gen_ai.server.time_to_first_token", "ttft_ms", "llm.invocation_parameters"],
  ...["langfuse.observation.usage_details", "mlflow.chat.tokenUsage", "metadata.usage_object"],
  ...["input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens"],
  ...["metadata", "tag.tags", "langfuse.trace.tags", "langsmith.span.tags"],
  ...["user.id", "enduser.id", "langfuse.user.id", "session.id", "langfuse.session.id"],
  ...["customer_id", "gen_ai.conversation.id", "gen_ai.prompt.name", "thread_id"],
  ...["service.name", "service.version", "service.instance.id"],
  ...["deployment.environment.name", "deployment.environment", "langfuse.environment"],
  ...["n8n.workflow.id", "n8n.node.name"],
]);

const PREFIXES = [
  ...LABEL_PREFIXES,
  "gen_ai.usage.",
  "llm.usage.",
  "llm.token_count.",
  "ai.usage.",
  "runledger.",
];

/** Use of an attribute: true if a rule reads it, false if none does, or the list of its message. */
export type KeyUse = boolean | MessageListName;

/** Returns the use of the attribute with a key. */
export function useOfKey(key: string): KeyUse {
  if (READ.has(key) || PREFIXES.some((prefix) => key.startsWith(prefix))) return true;
  const list = MESSAGE_LIST.exec(key)?.[0] as MessageListName | undefined;
  if (list === undefined) return false;
  return MESSAGE_FIELDS.has(key.slice(key.lastIndexOf(".") + 1)) ? list : false;
}

/** Returns whether an attribute is content, which a request may keep out of the ledger. */
export function isContent(key: string, use: KeyUse): boolean {
  return CONTENT.has(key) || typeof use === "string";
}

/** Start of a key such as `gen_ai.prompt.0.role`. */
const MESSAGE_LIST = /^(?:gen_ai\.(?:prompt|completion)|llm\.(?:input|output)_messages)\.(?=\d)/;

/** Ends of keys that are fields of messages, of their tool calls, or of parts of their content. */
const MESSAGE_FIELDS: ReadonlySet<string> = new Set([
  ...["role", "content", "name", "tool_call_id", "id", "arguments", "type", "text"],
]);
