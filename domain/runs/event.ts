/**
 * A validated event of a run.
 *
 * @module
 */
import type { EventId } from "../core/ids.ts";
import { TOOL_NAME_CHARS_MAX } from "../core/limits.ts";
import { isObject, type RawJson } from "../core/raw_json.ts";
import { cutText } from "../core/text.ts";
import { type LlmCall, type ReadCall, readLlmCall, readMilliseconds } from "../pricing/llm_call.ts";
import type { JsonFields } from "../core/body.ts";

/** A validated event. The payload is the exact text the client sent. */
export interface RunEvent {
  /** Unique within the run. */
  readonly id: EventId;
  /** `llm_call`, `log`, `tool_call` or any other name. */
  readonly type: string;
  /** Instant by the client's clock, unix milliseconds. */
  readonly ts: number;
  /** Turn of a conversation, from 1. */
  readonly turn?: number | undefined;
  /** The payload as sent. */
  readonly data: RawJson;
  /** Names of the payload's numbers that cannot be read; absent for none. */
  readonly unreadable?: readonly string[] | undefined;
  /** Names of fields that the call does not know; absent for none (R25). */
  readonly ignored?: readonly string[] | undefined;
  /** Flags that the run shows for this event; absent for none. */
  readonly flags?: readonly EventFlag[] | undefined;
  /** Score, for an event of type `score` (R17). */
  readonly score?: readonly [name: string, value: number | boolean] | undefined;
  /** Facts of the payload that the totals need. */
  readonly facts: EventFacts;
}

/** Flags of events, in display order. */
export const EVENT_FLAGS = [
  "ignored_fields",
  "no_tokens",
  "truncated",
  "unreadable_figures",
] as const;

/**
 * One of {@link EVENT_FLAGS}: fields beside the payload that the call does not know
 * (`ignored_fields`), a model call without token counts (`no_tokens`), a partly cut event
 * (`truncated`), or numbers that cannot be read (`unreadable_figures`).
 */
export type EventFlag = typeof EVENT_FLAGS[number];

/** Facts of a payload that the totals are computed from. */
export interface EventFacts {
  /** True if the payload reports a failure. */
  readonly error: boolean;
  /** Duration in milliseconds; absent if the payload states none. */
  readonly latencyMs?: number | undefined;
  /** Tokens and model of an `llm_call`. */
  readonly call?: LlmCall | undefined;
  /** Name of the tool of a failed `tool_call`, cut; absent if it has none, and for other events. */
  readonly failedTool?: string | undefined;
}

/** Reads the facts of a stored event's payload, exactly as its totals counted them. */
export function storedFacts(type: string, data: RawJson): EventFacts {
  const parsed: unknown = JSON.parse(data);
  const payload = isObject(parsed) ? parsed : {};
  return factsOf(type, payload, type === "llm_call" ? readLlmCall(payload) : null);
}

/** Reads the model call from a stored event's payload. */
export function storedCall(type: string, data: RawJson): LlmCall | undefined {
  return type === "llm_call" ? storedFacts(type, data).call : undefined;
}

/** Reads the facts of a payload, given the call already read from it. */
export function factsOf(type: string, data: JsonFields, read: ReadCall | null): EventFacts {
  const failed = (data.error ?? false) !== false && data.error !== "";
  const error = type === "error" || data.status === "error" || failed;
  const latencyMs = latencyOf(data.latency_ms) ?? latencyOf(data.duration_ms);
  const facts = latencyMs === undefined ? { error } : { error, latencyMs };
  if (error && type === "tool_call") {
    const failedTool = cutText(toolNameOf(data), TOOL_NAME_CHARS_MAX);
    return failedTool === "" ? facts : { ...facts, failedTool };
  }
  return read === null ? facts : { ...facts, call: read.call };
}

/** Members that may name a tool; the first text is its name. */
const TOOL_NAMES = ["name", "tool", "tool_name", "function"] as const;

/** Returns the name of the tool from the payload of a `tool_call`; empty for none. */
export function toolNameOf(data: JsonFields): string {
  const { function: called } = data;
  return firstText([...TOOL_NAMES.map((name) => data[name]), isObject(called) && called.name]);
}

/** Returns the first text that is not empty; empty if there is none. */
export function firstText(values: readonly unknown[]): string {
  return values.find((value): value is string => typeof value === "string" && value !== "") ?? "";
}

/** Maximum duration of an event: 100 years. */
const LATENCY_MS_MAX = 3_155_760_000_000;

function latencyOf(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const ms = readMilliseconds(value);
  return ms !== null && ms <= LATENCY_MS_MAX ? ms : undefined;
}
