/**
 * Decides the kind of a span from its instrumentation's attributes. Each span is judged alone.
 *
 * @module
 */
import { countOf, plainText, textOf } from "./attributes.ts";
import { AGENT_NAME_KEYS, KIND_KEYS, MODEL_KEYS, TOOL_ID_KEYS, TOOL_NAME_KEYS } from "./keys.ts";
import type { Span } from "./span.ts";

/** Kinds of work in a trace. */
export type SpanKind = "llm" | "tool" | "agent" | "chain" | "step" | "log";

/** Kind of a span. */
export interface KindOfSpan {
  /** The kind. */
  readonly kind: SpanKind;
  /** Name of a step's kind, or `embedding` of a model call. */
  readonly name?: string;
}

const AGENT: KindOfSpan = { kind: "agent" }, TOOL: KindOfSpan = { kind: "tool" };
const LLM: KindOfSpan = { kind: "llm" }, CHAIN: KindOfSpan = { kind: "chain" };
const EMBEDDING: KindOfSpan = { kind: "llm", name: "embedding" };

/** Spans that repeat or precede others and say nothing by themselves. */
const IGNORED_NAMES = /^(?:raw_gen_ai_request$|codex_)/;

/** Rules in order: the first that knows a span decides; null means that it is no AI work. */
const RULES: readonly ((span: Span) => Verdict)[] = [
  ({ name, attributes }) => {
    const isPending = attributes.get(KIND_KEYS.logfire) === "pending_span";
    return isPending || IGNORED_NAMES.test(name) ? null : undefined;
  },
  ofVercel,
  ofClaudeCode,
  ofLogfireAgents,
  named(KIND_KEYS.mlflow, {
    chat_model: LLM,
    llm: LLM,
    embedding: EMBEDDING,
    tool: TOOL,
    agent: AGENT,
    chain: CHAIN,
  }),
  named(KIND_KEYS.langSmith, { llm: LLM, embedding: EMBEDDING, tool: TOOL, chain: CHAIN }),
  named(KIND_KEYS.langfuse, {
    generation: LLM,
    embedding: EMBEDDING,
    tool: TOOL,
    agent: AGENT,
    span: CHAIN,
    chain: CHAIN,
    event: { kind: "log" },
  }),
  ofHandoff,
  named(KIND_KEYS.openInference, {
    llm: LLM,
    embedding: EMBEDDING,
    tool: TOOL,
    agent: AGENT,
    chain: CHAIN,
  }),
  ofGenAi,
  named(KIND_KEYS.traceloop, { workflow: AGENT, agent: AGENT, task: CHAIN, tool: TOOL }),
  ofOlderNames,
  ofN8n,
];

/** Returns the kind of a span; null if it is no AI work. */
export function kindOf(span: Span): KindOfSpan | null {
  for (const rule of RULES) {
    const kind = rule(span);
    if (kind !== undefined) return kind;
  }
  return null;
}

type Verdict = KindOfSpan | null | undefined;

/** AI SDK up to 6: wrappers repeat the usage of the calls below them. */
function ofVercel({ attributes }: Span): Verdict {
  const operation = textOf(attributes, [KIND_KEYS.vercel]);
  if (operation === null || !operation.startsWith("ai.")) return undefined;
  if (operation.endsWith(".doEmbed")) return EMBEDDING;
  if (/\.do(?:Generate|Stream)$/.test(operation)) return LLM;
  return operation === "ai.toolCall" ? TOOL : AGENT;
}

function ofClaudeCode({ scope, attributes }: Span): Verdict {
  if (scope !== "com.anthropic.claude_code.tracing") return undefined;
  const type = textOf(attributes, [KIND_KEYS.claudeCode]) ?? "";
  if (type.startsWith("tool.")) return null;
  return BY_TYPE.get(type) ?? step(type);
}

const BY_TYPE = new Map([["interaction", AGENT], ["llm_request", LLM], ["tool", TOOL]]);

function ofLogfireAgents({ scope, attributes }: Span): Verdict {
  if (scope !== "logfire.openai_agents") return undefined;
  if (textOf(attributes, ["gen_ai.request.model"]) !== null) return LLM;
  const template = textOf(attributes, ["logfire.msg_template"]) ?? "";
  if (template.startsWith("Agent run")) return AGENT;
  return template.startsWith("Function:") ? TOOL : undefined;
}

/** OpenInference gives the kind of a tool to handoffs, which run none. */
function ofHandoff({ name, attributes }: Span): Verdict {
  const kind = plainText(attributes.get(KIND_KEYS.openInference))?.toLowerCase();
  const isHandoff = kind === "tool" && name.startsWith("handoff to ") &&
    !attributes.has("tool.name");
  return isHandoff ? step("handoff") : undefined;
}

/** Operations that are model calls; LiteLLM names its functions instead. */
const CALLS: ReadonlySet<string> = new Set([
  ...["chat", "text_completion", "completion", "generate_content", "generate"],
  ...["realtime_inference", "acompletion", "atext_completion", "responses", "aresponses"],
]);

const EMBEDDINGS: ReadonlySet<string> = new Set(["embeddings", "embedding", "aembedding"]);

/** Scopes whose agents are of the client's kind although they run in the process. */
const LOCAL_AGENTS: ReadonlySet<string> = new Set([
  "opentelemetry.instrumentation.openai_agents",
  "autogen-core",
]);

function ofGenAi({ scope, isClient, attributes }: Span): Verdict {
  const operation = textOf(attributes, [KIND_KEYS.genAi]);
  if (operation === null) return undefined;
  if (CALLS.has(operation)) return LLM;
  if (EMBEDDINGS.has(operation)) return EMBEDDING;
  if (operation === "invoke_agent" || operation === "invoke_workflow") {
    const isElsewhere = isClient && !LOCAL_AGENTS.has(scope);
    return isElsewhere ? step("agent") : AGENT;
  }
  if (operation === "create_agent") return null;
  if (operation === "execute_tool") {
    return attributes.has("mcp.method.name") ? step("mcp") : TOOL;
  }
  return attributes.has(KIND_KEYS.requestType) ? undefined : step(operation);
}

/** Instrumentations from before the names of operations. */
function ofOlderNames({ attributes }: Span): Verdict {
  if (textOf(attributes, ["gen_ai.tool.name", "gen_ai.tool.call.id"]) !== null) {
    return TOOL;
  }
  const type = textOf(attributes, [KIND_KEYS.requestType]);
  if (type !== null) return /embedding/.test(type) ? EMBEDDING : LLM;
  const counts = ["gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"];
  const isCall = textOf(attributes, MODEL_KEYS) !== null && countOf(attributes, counts) !== null;
  return isCall ? LLM : undefined;
}

function ofN8n({ name, attributes }: Span): Verdict {
  if (!attributes.has("n8n.workflow.id") && !attributes.has("n8n.workflow.name")) return undefined;
  if (name === "workflow.execute") return AGENT;
  return name === "node.execute" ? step("node") : undefined;
}

/** Returns the rule by which an attribute names the kind, in any case; other names are steps. */
function named(key: string, kinds: Readonly<Record<string, KindOfSpan>>) {
  return ({ attributes }: Span): Verdict => {
    const name = plainText(attributes.get(key))?.toLowerCase();
    if (name === undefined) return undefined;
    return Object.hasOwn(kinds, name) ? kinds[name] : step(STEP_NAMES.get(name) ?? name);
  };
}

const STEP_NAMES = new Map([
  ["retriever", "retrieval"],
  ["reranker", "rerank"],
  ["evaluator", "evaluation"],
]);

/** Maximum characters of a step's kind, which an exporter may choose. */
const STEP_NAME_CHARS_MAX = 64;

function step(name: string): KindOfSpan {
  return { kind: "step", name: name.slice(0, STEP_NAME_CHARS_MAX).toWellFormed() };
}

/** Suffixes of methods that frameworks add to the names of agents. */
const METHOD = /\.(?:run|kickoff|_execute_core|forward)$/;

/** Names of classes and defaults, which name no agent. */
const GENERIC_NAMES =
  /^(?:LangGraph|RunnableSequence|AgentExecutor|Agent workflow|Chat.*|OpenAI Agent|Pipeline|FunctionAgent|ChainOfThought|Workflow)$/;

/** Conventions whose spans have the agent's name as their own. */
const OWN_NAMES = [
  KIND_KEYS.openInference,
  KIND_KEYS.langfuse,
  KIND_KEYS.langSmith,
  KIND_KEYS.mlflow,
];

/** Returns the name of the agent that a span names; null for none. */
export function agentNameOf(span: Span, kind: SpanKind, agentLabel: string | null): string | null {
  const { attributes, name, parentId } = span;
  const keys = kind === "agent"
    ? AGENT_NAME_KEYS
    : AGENT_NAME_KEYS.filter((key) => key !== "traceloop.entity.name");
  const given = [textOf(attributes, keys), agentLabel].find(isAgentName);
  if (given !== undefined) return given;
  const isOwn = (kind === "agent" || kind === "chain" && parentId === null) &&
    OWN_NAMES.some((key) => attributes.has(key));
  const own = name.replace(METHOD, "");
  return isOwn && isAgentName(own) ? own : null;
}

function isAgentName(name: string | null): name is string {
  return name !== null && name !== "" && !GENERIC_NAMES.test(name);
}

/** Returns the name that an event shows for a span. */
export function shownNameOf(span: Span, kind: SpanKind): string {
  if (kind === "tool") return textOf(span.attributes, TOOL_NAME_KEYS) ?? ownName(span);
  return ownName(span);
}

function ownName({ name, attributes }: Span): string {
  const isTemplate = attributes.has("logfire.msg_template") && attributes.has("name");
  return (isTemplate ? plainText(attributes.get("name")) : null) ?? name.replace(METHOD, "");
}

/** Returns the id by which a model asked for a tool call; null for none. */
export function toolCallIdOf({ attributes }: Span): string | null {
  return textOf(attributes, TOOL_ID_KEYS);
}
