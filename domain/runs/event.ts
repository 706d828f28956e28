/**
 * One event of a run, checked.
 *
 * @module
 */
import type { EventId } from "../core/ids.ts";
import { isObject, type RawJson } from "../core/raw_json.ts";
import { type LlmCall, type ReadCall, readLlmCall } from "../pricing/llm_call.ts";
import type { JsonFields } from "../core/body.ts";

/** An event as checked and kept: the payload is the very text that was sent. */
export interface RunEvent {
  /** Unique within the run. */
  readonly id: EventId;
  /** `llm_call`, `log`, `tool_call` or any other name. */
  readonly type: string;
  /** Instant by the client's clock, unix milliseconds. */
  readonly ts: number;
  /** Which exchange of a conversation, from 1. */
  readonly turn?: number | undefined;
  /** The payload as sent. */
  readonly data: RawJson;
  /** Figures of its payload that cannot be read, by name; absent for none. */
  readonly unreadable?: readonly string[] | undefined;
  /** What its run shows of it; absent for nothing. */
  readonly flags?: readonly EventFlag[] | undefined;
  /** The score that it is, when its type says so (R17). */
  readonly score?: readonly [name: string, value: number | boolean] | undefined;
  /** What the totals need of the payload. */
  readonly facts: EventFacts;
}

/** What a run shows of its events, in this order. */
export const EVENT_FLAGS = ["no_tokens", "truncated", "unreadable_figures"] as const;

/**
 * One of {@link EVENT_FLAGS}: a model call has `no_tokens`, part of an event was cut (`truncated`), or it
 * has `unreadable_figures`.
 */
export type EventFlag = typeof EVENT_FLAGS[number];

/** The few facts of a payload that totals are made of. */
export interface EventFacts {
  /** Whether the payload reports a failure. */
  readonly error: boolean;
  /** Tokens and model of an `llm_call`. */
  readonly call?: LlmCall | undefined;
}

/** Reads again what the totals counted of a stored event's payload. */
export function storedFacts(type: string, data: RawJson): EventFacts {
  const parsed: unknown = JSON.parse(data);
  const sent = isObject(parsed) ? parsed : {};
  return factsOf(type, sent, type === "llm_call" ? readLlmCall(sent) : null);
}

/** Reads the call out of a stored event's payload. */
export function storedCall(type: string, data: RawJson): LlmCall | undefined {
  return type === "llm_call" ? storedFacts(type, data).call : undefined;
}

/** Reads what totals need of a payload, given the call read from it. */
export function factsOf(type: string, data: JsonFields, read: ReadCall | null): EventFacts {
  const failed = (data.error ?? false) !== false && data.error !== "";
  const error = type === "error" || data.status === "error" || failed;
  return read === null ? { error } : { error, call: read.call };
}
