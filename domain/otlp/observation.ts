/**
 * Reads what one span says: its kind, its failure, and the usage of a model call.
 *
 * @module
 */
import { type AppLabels, appLabelsOf, isTrue, listOf, textOf } from "./attributes.ts";
import { KIND_KEYS } from "./keys.ts";
import { agentNameOf, kindOf, shownNameOf, type SpanKind } from "./kind.ts";
import type { Span } from "./span.ts";
import { type SpanUsage, usageOf } from "./usage.ts";

/** Failure of a span. */
export interface SpanFailure {
  /** Message, without a stack; null if the span tells none. */
  readonly message: string | null;
  /** Class or code of the error; null if unknown. */
  readonly type: string | null;
}

/** A span of AI work, as its convention describes it. */
export interface Observation {
  /** The span. */
  readonly span: Span;
  /** Kind of work. */
  readonly kind: SpanKind;
  /** Name of a step's kind, or `embedding`; null for none. */
  readonly kindName: string | null;
  /** Name to show. */
  readonly name: string;
  /** Name of the agent that it names; null for none. */
  readonly agent: string | null;
  /** Failure; null for none. */
  readonly failure: SpanFailure | null;
  /** Usage of a model call; null for other kinds. */
  readonly usage: SpanUsage | null;
  /** Reason why the model stopped; null if unknown. */
  readonly finishReason: string | null;
  /** Labels that the application chose. */
  readonly labels: AppLabels;
}

/** Reads a span; null if it is no AI work. */
export function observe(span: Span): Observation | null {
  const ofKind = kindOf(span);
  if (ofKind === null) return null;
  const labels = appLabelsOf(span);
  const failure = failureOf(span);
  const finishReason = finishReasonOf(span);
  const usage = ofKind.kind === "llm" ? usageOf(span, labels, failure !== null) : null;
  const isCall = usage !== null && asksModel(span, ofKind.name, usage, failure, finishReason);
  const kind = ofKind.kind === "llm" && !isCall ? "step" : ofKind.kind;
  return {
    span,
    kind,
    kindName: ofKind.name ?? (ofKind.kind === kind ? null : "call"),
    name: shownNameOf(span, kind),
    agent: agentNameOf(span, kind, labels.get("lc_agent_name") ?? null),
    failure,
    usage: isCall ? usage : null,
    finishReason,
    labels,
  };
}

/**
 * Returns whether a span of a model's kind is a call. Wrappers of embeddings have no tokens, and some
 * frameworks give the kind to spans that ask no provider.
 */
function asksModel(
  span: Span,
  name: string | undefined,
  { input, output, model }: SpanUsage,
  failure: SpanFailure | null,
  finishReason: string | null,
): boolean {
  const isCounted = input !== null || output !== null;
  if (isCounted || failure !== null) return true;
  if (name === "embedding") return false;
  if (finishReason !== null) return true;
  if (span.name.endsWith("._prepare_chat_with_tools")) return false;
  const hasAnswered = span.attributes.has(KIND_KEYS.openInference) &&
    span.attributes.has("output.mime_type");
  return model !== null || hasAnswered;
}

function finishReasonOf({ attributes }: Span): string | null {
  return listOf(attributes.get("gen_ai.response.finish_reasons"))[0] ??
    textOf(attributes, [
      "gen_ai.response.finish_reason",
      "llm.finish_reason",
      "gen_ai.completion.0.finish_reason",
      "ai.response.finishReason",
      "anthropic.message.stop_reason",
      "stop_reason",
    ]);
}

/** Characters of a failure's message that are kept. */
const MESSAGE_CHARS_MAX = 500;

function failureOf({ attributes, isError, message, exception, scope }: Span): SpanFailure | null {
  const success = attributes.get("success");
  const isFailed = isError || textOf(attributes, ["error.type"]) !== null ||
    textOf(attributes, ["langfuse.observation.level"]) === "ERROR" ||
    success !== undefined && !isTrue(success) ||
    // LangSmith's spans have the status OK also when they failed.
    exception !== null && scope === "langsmith";
  if (!isFailed) return null;
  const said = message ||
    textOf(attributes, ["langfuse.observation.status_message"]) ||
    (exception === null ? null : textOf(exception, ["exception.message"])) ||
    textOf(attributes, ["error.message"]);
  const type = textOf(attributes, ["error.type"]) ??
    (exception === null ? null : textOf(exception, ["exception.type"]));
  return { message: said === null ? null : withoutStack(said), type: typeName(type) };
}

/** Cuts a message before its stack, which names files of the machine. */
function withoutStack(message: string): string | null {
  const [text = ""] = message.split(/Traceback \(most recent call last\)|\n\s+at /, 1);
  const trimmed = text.trim();
  return trimmed === "" ? null : trimmed.slice(0, MESSAGE_CHARS_MAX).toWellFormed();
}

/** `<class 'openai.RateLimitError'>` is `RateLimitError`, as is `openai.RateLimitError`. */
function typeName(type: string | null): string | null {
  const name = /^<class '(.+)'>$/.exec(type ?? "")?.[1] ?? type;
  return name === null ? null : (name.split(".").at(-1) ?? name).slice(0, 128).toWellFormed();
}
