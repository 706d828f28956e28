/**
 * Goal, output and error of a trace's run, from the events of the spans that give its begin, end and
 * status. Nothing of them is stored with the run, so they expire with its payload.
 *
 * @module
 */
import type { JsonFields } from "../core/body.ts";
import { GOAL_CHARS_MAX } from "../core/limits.ts";
import { isObject, type RawJson, rawOf } from "../core/raw_json.ts";
import { cutText } from "../core/text.ts";
import { type ChatMessage, chatOf } from "./chat.ts";
import type { RunParts } from "./run.ts";

/** Payloads of the events of a trace's spans; null for one that is not stored. */
export interface SpanPayloads {
  /** Payload of the span that begins the run. */
  readonly begin: RawJson | null;
  /** Payload of the span that ends it. */
  readonly end: RawJson | null;
  /** Payload of the span that tells its status. */
  readonly status: RawJson | null;
}

/** Adds the texts of a trace to the parts of its run; what a call sent stays as it is. */
export function withTraceTexts(parts: RunParts, payloads: SpanPayloads): RunParts {
  const { opening, closing } = parts;
  const goal = opening?.goal ?? goalIn(payloads.begin);
  const output = closing?.output ?? opening?.output ?? outputIn(payloads.end);
  const isFailed = closing !== null && closing.status !== "success";
  const note = closing?.note ?? (isFailed ? errorIn(payloads.status) : undefined);
  return {
    opening: opening && { ...opening, goal },
    closing: closing && { ...closing, output, note },
  };
}

/** Returns the last text of the user, or what was sent as it is. */
function goalIn(payload: RawJson | null): string | undefined {
  const { input } = fieldsOf(payload);
  if (input === undefined) return undefined;
  const text = textOf(chatOf({ input }).input, "user") ??
    (typeof input === "string" ? input : rawOf(input));
  return cutText(text, GOAL_CHARS_MAX);
}

/** Returns the text of an answer in messages, or the answer as it is. */
function outputIn(payload: RawJson | null): RawJson | undefined {
  const { output } = fieldsOf(payload);
  if (output === undefined) return undefined;
  // A graph answers with its state.
  const { messages } = isObject(output) ? output : {};
  const said = messages ?? output;
  const text = isObject(said) || Array.isArray(said)
    ? textOf(chatOf({ output: said }).output, "assistant")
    : null;
  return rawOf(text ?? output);
}

function errorIn(payload: RawJson | null): string | undefined {
  const { error } = fieldsOf(payload);
  return typeof error === "string" ? error : undefined;
}

function fieldsOf(payload: RawJson | null): JsonFields {
  const data: unknown = payload === null ? null : JSON.parse(payload);
  return isObject(data) ? data : {};
}

/** Returns the text of the last message of a role; null for none. */
function textOf(messages: readonly ChatMessage[], role: string): string | null {
  const texts = messages.filter((message) => message.role === role)
    .map(({ parts }) =>
      parts.flatMap((part) => part.kind === "text" ? [part.text] : []).join("\n")
    );
  return texts.findLast((text) => text.trim() !== "") ?? null;
}
