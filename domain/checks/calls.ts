/**
 * Facts of a run's tool calls and model calls, from its events.
 *
 * @module
 */
import type { JsonFields } from "../core/body.ts";
import { isObject } from "../core/raw_json.ts";
import { readLlmCall } from "../pricing/llm_call.ts";
import { toolUseOf } from "../runs/chat.ts";
import { type EventFacts, factsOf, firstText, type RunEvent, toolNameOf } from "../runs/event.ts";
import {
  type AllFacts,
  type CallFact,
  CALLS_MAX,
  type EVENT_FACTS,
  EVENTS_READ_MAX,
  type FactName,
  type ToolFact,
} from "./program.ts";

/** Facts that are made of events. */
export type EventFactValues = Pick<AllFacts, typeof EVENT_FACTS[number]>;

/** Place of a call. It does not depend on the arrival of the event. */
type Place = Pick<RunEvent, "ts" | "id">;

/** Collects the facts of events. The events may be added in any order. */
export class CallFacts {
  readonly #needed: ReadonlySet<FactName>;
  readonly #tools = new First<ToolFact>();
  readonly #calls = new First<CallFact>();
  /** Each tool call as the number of its name and input. */
  readonly #series: { readonly place: Place; readonly call: number }[] = [];
  /** Numbers of tool calls by name and input. */
  readonly #numbers = new Map<string, number>();
  /** Names of tool calls by their number. */
  readonly #names: string[] = [];

  /**
   * Creates a collector without events.
   *
   * @param needed names whose values are needed
   */
  constructor(needed: ReadonlySet<FactName>) {
    this.#needed = needed;
  }

  /** Adds an event. */
  add({ id, ts, type, data }: Pick<RunEvent, "id" | "ts" | "type" | "data">): void {
    if (!isNeeded(type, this.#needed)) return;
    const parsed: unknown = JSON.parse(data);
    const fields = isObject(parsed) ? parsed : {};
    if (type === "llm_call") this.#calls.add({ ts, id }, callFactOf(fields));
    else this.#addTool({ ts, id }, toolFactOf(fields));
  }

  /** Returns the values of the needed names. */
  result(): Partial<EventFactValues> {
    const needs = (name: FactName) => this.#needed.has(name);
    return {
      ...needs("tools") ? { tools: this.#tools.inOrder() } : {},
      ...needs("calls") ? { calls: this.#calls.inOrder() } : {},
      ...needs("longest_repeat") ? { longest_repeat: this.#longestRepeat() } : {},
    };
  }

  #addTool(place: Place, tool: ToolFact): void {
    if (this.#needed.has("tools")) this.#tools.add(place, tool);
    if (!this.#needed.has("longest_repeat")) return;
    const text = JSON.stringify([tool.name, tool.input], sortKeys);
    let call = this.#numbers.get(text);
    if (call === undefined) {
      call = this.#names.push(tool.name) - 1;
      this.#numbers.set(text, call);
    }
    this.#series.push({ place, call });
  }

  #longestRepeat(): AllFacts["longest_repeat"] {
    const calls = this.#series.toSorted((a, b) => comparePlaces(a.place, b.place))
      .map(({ call }) => call);
    const { times, start, length } = longestRepeat(calls);
    const cycle = calls.slice(start, start + length);
    return { times, name: cycle.map((call) => this.#names[call]).join(", ") };
  }
}

/** Counts of a run's events. */
export interface EventCounts {
  /** All events. */
  readonly events: number;
  /** Tool calls. */
  readonly toolCalls: number;
  /** Model calls that are events. */
  readonly llmCalls: number;
}

/** Returns whether a run has more events than are read for its facts. */
export function hasTooMany({ events }: EventCounts): boolean {
  return events > EVENTS_READ_MAX;
}

/** Returns the facts of a run without the calls that they are made of; null if it has any. */
export function factsWithoutCalls(
  needed: ReadonlySet<FactName>,
  { toolCalls, llmCalls }: EventCounts,
): Partial<EventFactValues> | null {
  const hasCalls = toolCalls > 0 && isNeeded("tool_call", needed) ||
    llmCalls > 0 && isNeeded("llm_call", needed);
  return hasCalls ? null : new CallFacts(needed).result();
}

/** Returns whether facts of a run are made of events of a type. */
function isNeeded(type: string, needed: ReadonlySet<FactName>): boolean {
  if (type === "llm_call") return needed.has("calls");
  return type === "tool_call" && (needed.has("tools") || needed.has("longest_repeat"));
}

/** Keeps the first {@link CALLS_MAX} of the calls that are added. */
class First<Fact> {
  #kept: { readonly place: Place; readonly fact: Fact }[] = [];

  add(place: Place, fact: Fact): void {
    this.#kept.push({ place, fact });
    if (this.#kept.length === 2 * CALLS_MAX) this.#cut();
  }

  inOrder(): Fact[] {
    this.#cut();
    return this.#kept.map(({ fact }) => fact);
  }

  #cut(): void {
    this.#kept = this.#kept.sort((a, b) => comparePlaces(a.place, b.place)).slice(0, CALLS_MAX);
  }
}

function comparePlaces(a: Place, b: Place): number {
  return a.ts - b.ts || (a.id < b.id ? -1 : Number(a.id > b.id));
}

/** Sorts the keys of objects for `JSON.stringify`: equal inputs have equal texts. */
function sortKeys(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
}

function toolFactOf(data: JsonFields): ToolFact {
  const { error, latencyMs } = factsOf("tool_call", data, null);
  return {
    name: toolNameOf(data),
    error: errorOf(data, error),
    latency_ms: latencyMs ?? null,
    input: toolUseOf(data).input ?? null,
  };
}

function callFactOf(data: JsonFields): CallFact {
  const { error, latencyMs, call }: EventFacts = factsOf("llm_call", data, readLlmCall(data));
  return {
    provider: call?.provider ?? "",
    model: call?.model ?? "",
    error: errorOf(data, error),
    latency_ms: latencyMs ?? null,
    input_tokens: call?.inputTokens ?? 0,
    output_tokens: call?.outputTokens ?? 0,
  };
}

/** Returns the reason that a failed call gives, `error` if it gives none; empty without a failure. */
function errorOf({ error, message, status }: JsonFields, isFailed: boolean): string {
  if (!isFailed) return "";
  const stated = isObject(error) ? [error.message, JSON.stringify(error)] : [error];
  return firstText([...stated, message, status, "error"]);
}

/** Maximum calls of a cycle. */
const CYCLE_MAX = 4;

/** A cycle of calls, and its repetitions one after the other. */
export interface Repeat {
  /** Repetitions of the cycle; 0 without calls. */
  readonly times: number;
  /** Index of the first call. */
  readonly start: number;
  /** Number of calls of the cycle; 0 without calls. */
  readonly length: number;
}

/**
 * Returns the cycle of one to four calls that is repeated most; of several, the shortest, then the
 * first.
 *
 * @param calls calls in order, equal ones as the same number
 */
export function longestRepeat(calls: readonly number[]): Repeat {
  let best: Repeat = { times: 0, start: 0, length: 0 };
  for (let length = 1; length <= Math.min(CYCLE_MAX, calls.length); length++) {
    // Calls in a row that each equal the call one cycle before.
    let equal = 0;
    for (let at = length; at <= calls.length; at++) {
      const times = 1 + Math.floor(equal / length);
      if (times > best.times) best = { times, start: at - equal - length, length };
      equal = calls[at] === calls[at - length] ? equal + 1 : 0;
    }
  }
  return best;
}
