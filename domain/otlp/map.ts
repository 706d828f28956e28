/**
 * Maps the spans of a request to runs: the events of each, and what its spans say about it.
 *
 * @module
 */
import type { JsonFields } from "../core/body.ts";
import type { Region, RunId } from "../core/ids.ts";
import { EVENT_BYTES_MAX } from "../core/limits.ts";
import type { Steps } from "../core/steps.ts";
import { exceedsBytes, rawOf } from "../core/raw_json.ts";
import { withFacts } from "../ingest/parse_events.ts";
import type { RunEvent } from "../runs/event.ts";
import { countOf, isTrue, parsed, textOf } from "./attributes.ts";
import { eventIdOf } from "./event_id.ts";
import {
  INPUT_KEYS,
  INSTRUCTION_KEYS,
  KIND_KEYS,
  MESSAGE_LISTS,
  type MessageListName,
  OUTPUT_KEYS,
} from "./keys.ts";
import { toolCallIdOf } from "./kind.ts";
import { type Observation, observe, type SpanFailure } from "./observation.ts";
import { ATTRIBUTE_CHARS_MAX, type Attributes, type Span } from "./span.ts";
import { JoinedFacts, type TraceFacts } from "../runs/trace_facts.ts";
import { attachedFactsOf, attachedRunOf, factsOf } from "./trace.ts";
import { sameCalls, type StoredSpan, TWIN_CALLS_MAX } from "./twins.ts";
import { type SpanUsage, usageOf } from "./usage.ts";

/** Spans and facts of one run in a request. */
export interface RunSpans {
  /** The run. */
  readonly run: RunId;
  /** Its events, in the order sent. */
  readonly events: readonly RunEvent[];
  /** Facts of its spans. */
  readonly facts: TraceFacts;
}

/** Spans of a request by run. */
export interface MappedSpans {
  /** The runs, in the order of their first spans. */
  readonly runs: readonly RunSpans[];
  /** Number of spans that are no AI work. */
  readonly dropped: number;
}

/** Choices of a request. */
export interface MapOptions {
  /** Region of the service, which is part of ids. */
  readonly region: Region;
  /** Agent that the request names for its spans; null for none. */
  readonly agent: string | null;
  /** False if messages, arguments, answers and errors stay out of the ledger. */
  readonly keepsContent: boolean;
}

/** Spans that are mapped in one step. */
const SPANS_PER_STEP = 32;

function isStepEnd(i: number): boolean {
  return i % SPANS_PER_STEP === SPANS_PER_STEP - 1;
}

/** Maps the spans of a request, a few in each step. */
export function* mapSpans(spans: readonly Span[], options: MapOptions): Steps<MappedSpans> {
  const observations: Observation[] = [];
  for (const [i, span] of spans.entries()) {
    const said = observe(span);
    if (said !== null) observations.push(said);
    if (isStepEnd(i)) yield;
  }
  const homes = yield* homesOf(observations);
  const closers = yield* closersOf(spans, observations);
  const runs = new Map<RunId, DraftRun>();
  for (const [i, said] of observations.entries()) {
    if (isStepEnd(i)) yield;
    const attached = attachedRunOf(said);
    const trace = homes.get(said.span) ?? said.span.traceId;
    const id = attached ?? `run_${options.region}_${trace}` as RunId;
    const isOwn = attached === null && trace === said.span.traceId;
    const run = runs.get(id) ?? { events: [], said: [] };
    runs.set(id, run);
    run.events.push(eventOf(said, said.kind, said.usage, 0, isOwn, options));
    const call = callOfAgent(said);
    if (call !== null) run.events.push(eventOf(said, "llm", call, 1, isOwn, options));
    run.said.push([said, isOwn]);
  }
  const mapped: RunSpans[] = [];
  for (const [run, { events, said }] of runs) {
    const facts = new JoinedFacts();
    // What encloses others is usually sent last, and its candidates win.
    for (let i = said.length - 1; i >= 0; i--) {
      const [one, isOwn] = said[i] as DraftRun["said"][number];
      facts.add(isOwn ? factsOf(one, options.agent, facts) : attachedFactsOf(one));
      if (isOwn && closers.has(one)) facts.add({ isClosed: true });
      if (isStepEnd(i)) yield;
    }
    mapped.push({ run, events, facts: facts.result() });
  }
  return { runs: mapped, dropped: spans.length - observations.length };
}

/** A run of a request, its spans with whether their trace is its own. */
interface DraftRun {
  readonly events: RunEvent[];
  readonly said: (readonly [said: Observation, isOwn: boolean])[];
}

/**
 * Finds calls that two instrumentations told in two traces: the span without a parent that is alone in
 * its trace goes to the run of the other.
 *
 * @returns the trace to whose run a span goes, where that is another than its own
 */
function* homesOf(observations: readonly Observation[]): Steps<ReadonlyMap<Span, string>> {
  const homes = new Map<Span, string>();
  const scope = observations.find(({ kind }) => kind === "llm")?.span.scope;
  if (!observations.some(({ kind, span }) => kind === "llm" && span.scope !== scope)) return homes;
  const processes = new Map<Attributes, string>();
  const byProcess = Map.groupBy(observations, ({ span: { resource } }) => {
    const process = processes.get(resource) ?? processOf(resource);
    processes.set(resource, process);
    return process;
  });
  for (const said of byProcess.values()) {
    const calls = new Map<string, Observation>();
    for (const one of said) {
      if (one.kind === "llm") calls.set(`${one.span.traceId} ${one.span.spanId}`, one);
    }
    if (calls.size > TWIN_CALLS_MAX) continue;
    yield;
    if (new Set(Array.from(calls.values(), ({ span }) => span.scope)).size < 2) continue;
    const spansOfTrace = new Map<string, Set<string>>();
    for (const { span: { traceId, spanId } } of said) {
      const ids = spansOfTrace.get(traceId) ?? new Set();
      spansOfTrace.set(traceId, ids.add(spanId));
    }
    const isAlone = ({ traceId, parentId }: Span) =>
      parentId === null && spansOfTrace.get(traceId)?.size === 1;
    if (!calls.values().some(({ span }) => isAlone(span))) continue;
    const stored = Array.from(calls, ([id, one]) => storedSpanOf(id, one));
    const homeOf = new Map<string, string>();
    for (const group of sameCalls(stored) ?? []) {
      const spans = group.map((id) => calls.get(id)?.span as Span);
      const home = spans.find((span) => !isAlone(span)) ?? spans[0] as Span;
      for (const { traceId } of spans.filter(isAlone)) homeOf.set(traceId, home.traceId);
    }
    // A span may be in the request twice.
    for (const { span } of said) {
      const home = homeOf.get(span.traceId);
      if (home !== undefined) homes.set(span, home);
    }
  }
  return homes;
}

/** Returns what identifies a process. */
function processOf(resource: Attributes): string {
  return textOf(resource, ["service.instance.id"]) ?? JSON.stringify([...resource].sort());
}

function storedSpanOf(id: string, said: Observation): StoredSpan {
  const { startMs } = said.span;
  return {
    id,
    type: "llm_call",
    ts: Math.floor(startMs),
    data: callData(said, said.usage, true, false),
  };
}

/**
 * Finds agents that end a run although they have a parent: all that encloses them is in the request,
 * and none of it is AI work, such as a web request.
 */
function* closersOf(
  spans: readonly Span[],
  observations: readonly Observation[],
): Steps<ReadonlySet<Observation>> {
  const inner = observations.filter((said) => isApplication(said) && said.span.parentId !== null);
  if (inner.length === 0) return new Set();
  const bySpan = new Map(spans.map((span) => [`${span.traceId} ${span.spanId}`, span]));
  const working = new Set(observations.map(({ span }) => `${span.traceId} ${span.spanId}`));
  const isEnclosed = ({ span }: Observation): boolean => {
    const visited = new Set<Span>();
    for (let inner = span; inner.parentId !== null;) {
      const key = `${inner.traceId} ${inner.parentId}`;
      const outer = bySpan.get(key);
      if (outer === undefined || working.has(key) || visited.has(outer)) return false;
      if (inner.isParentRemote || visited.size === LEVELS_MAX) return false;
      if (outer.startMs > inner.startMs || outer.endMs < inner.endMs) return false;
      visited.add(outer);
      inner = outer;
    }
    return true;
  };
  const closers = new Set<Observation>();
  for (const [i, said] of inner.entries()) {
    if (isEnclosed(said)) closers.add(said);
    if (isStepEnd(i)) yield;
  }
  return closers;
}

/** Maximum levels around an agent that are climbed. */
const LEVELS_MAX = 64;

/** Returns whether a span may be all of an application's AI work: an agent, or a graph's chain. */
function isApplication({ kind, span: { scope } }: Observation): boolean {
  return kind === "agent" || kind === "chain" && /langchain|langsmith/.test(scope);
}

/** Instrumentation whose agents carry the tokens of their calls, which have no spans. */
const AGENT_IS_CALL = /claude[-_]agent[-_]sdk/;

/** Returns the usage of an agent whose span is also its model call; null for others. */
function callOfAgent({ span, kind, labels, failure }: Observation): SpanUsage | null {
  if (kind !== "agent" || !AGENT_IS_CALL.test(span.scope)) return null;
  const call = usageOf(span, labels, failure !== null);
  return call.input === null && call.output === null ? null : call;
}

const RESPONSE_ID_KEYS = ["gen_ai.response.id", "ai.response.id"];

const STREAM_KEYS = ["gen_ai.request.stream", "gen_ai.is_streaming", "llm.is_streaming"];

/** Types of events by kind of span. */
const EVENT_TYPES = {
  llm: "llm_call",
  tool: "tool_call",
  log: "log",
  agent: "step",
  chain: "step",
  step: "step",
} as const;

function eventOf(
  said: Observation,
  kind: Observation["kind"],
  usage: SpanUsage | null,
  ordinal: number,
  isOwn: boolean,
  { region, keepsContent }: MapOptions,
): RunEvent {
  const { span } = said;
  const type = EVENT_TYPES[kind];
  const data = kind === "llm"
    ? callData(said, usage, isOwn, keepsContent)
    : workData(said, isOwn, keepsContent);
  const content = keepsContent && ordinal === 0 ? contentOf(span.attributes) : null;
  const whole = content === null ? data : { ...data, ...content };
  const event = { id: eventIdOf(region, span, ordinal), type, ts: Math.floor(span.startMs) };
  const raw = rawOf(whole);
  if (!exceedsBytes(raw, EVENT_BYTES_MAX)) return withFacts({ ...event, data: raw }, whole);
  const cut = withFacts({ ...event, data: rawOf(data) }, data);
  return { ...cut, flags: [...cut.flags ?? [], "truncated"] };
}

/** Returns the payload of a model call; undefined fields are unknown, and are not stored. */
function callData(
  said: Observation,
  usage: SpanUsage | null,
  isOwn: boolean,
  keepsContent: boolean,
): JsonFields {
  const { span, failure } = said;
  const { attributes } = span;
  const isRecord = attributes.get(KIND_KEYS.logfire) === "log";
  return {
    name: said.name,
    provider: usage?.provider ?? undefined,
    model: usage?.model ?? undefined,
    request_model: usage?.requestModel ?? undefined,
    input_tokens: usage?.input ?? undefined,
    output_tokens: usage?.output ?? undefined,
    cached_input_tokens: usage?.cached ?? undefined,
    cache_creation_input_tokens: usage?.written ?? undefined,
    reasoning_tokens: usage?.reasoning ?? undefined,
    latency_ms: latencyOf(span),
    ttft_ms: firstTokenMsOf(attributes) ?? undefined,
    finish_reason: said.finishReason ?? undefined,
    stream: isStream(attributes) || undefined,
    response_id: textOf(attributes, RESPONSE_ID_KEYS) ?? undefined,
    kind: said.kindName ?? undefined,
    span: placeOf(span, isOwn, isRecord),
    status: failure === null ? undefined : "error",
    error: errorOf(failure, keepsContent),
    exception: failure?.type ?? undefined,
  };
}

/** Returns the payload of any other work; undefined fields are not stored. */
function workData(said: Observation, isOwn: boolean, keepsContent: boolean): JsonFields {
  const { span, kind, name, failure } = said;
  const isStep = EVENT_TYPES[kind] === "step";
  const isTool = kind === "tool";
  return {
    tool: isTool ? name : undefined,
    tool_invocation_id: isTool ? toolCallIdOf(span) ?? undefined : undefined,
    message: kind === "log" ? name : undefined,
    // A chain's span names its step; an agent's is often a method.
    name: isStep ? (kind === "chain" ? null : said.agent) ?? name : undefined,
    kind: isStep ? said.kindName ?? kind : undefined,
    latency_ms: latencyOf(span),
    status: failure === null ? undefined : "error",
    error: errorOf(failure, keepsContent),
    exception: failure?.type ?? undefined,
    span: placeOf(span, isOwn),
  };
}

/** Returns the place of a span in its tree; the trace is named if the run has another. */
function placeOf(
  { spanId, parentId, scope, traceId }: Span,
  isOwn: boolean,
  isRecord = false,
): JsonFields {
  return {
    id: spanId,
    parent: parentId ?? undefined,
    scope: scope.slice(0, 256).toWellFormed(),
    trace: isOwn ? undefined : traceId,
    record: isRecord || undefined,
  };
}

function latencyOf({ startMs, endMs }: Span): number {
  return Math.round(endMs - startMs);
}

/** Returns the milliseconds until the first token; some instrumentations tell seconds. */
function firstTokenMsOf(attributes: Attributes): number | null {
  const seconds = attributes.get("gen_ai.response.time_to_first_chunk");
  if (typeof seconds === "number" && seconds >= 0) return Math.round(seconds * 1_000);
  return countOf(attributes, ["gen_ai.server.time_to_first_token", "ttft_ms"]);
}

function isStream(attributes: Attributes): boolean {
  return STREAM_KEYS.some((key) => isTrue(attributes.get(key)));
}

/** Returns the error of a failed span: without content, its class alone. */
function errorOf(failure: SpanFailure | null, keepsContent: boolean): string | undefined {
  if (failure === null) return undefined;
  return (keepsContent ? failure.message : null) ?? failure.type ?? "error";
}

/** Returns what was sent and answered, parsed where it is JSON; null for neither. */
function contentOf(attributes: Attributes): JsonFields | null {
  const system = contentAt(attributes, INSTRUCTION_KEYS);
  const input = contentOrMessages(attributes, INPUT_KEYS, MESSAGE_LISTS.input);
  const output = contentOrMessages(attributes, OUTPUT_KEYS, MESSAGE_LISTS.output);
  const isEmpty = system === undefined && input === undefined && output === undefined;
  return isEmpty ? null : { system, input, output };
}

function contentAt(attributes: Attributes, keys: readonly string[]): unknown {
  for (const key of keys) {
    const value = attributes.get(key);
    if (value === undefined || value === "") continue;
    return typeof value === "string" && /^\s*[{["]/.test(value) ? parsed(value) : value;
  }
  return undefined;
}

function contentOrMessages(
  attributes: Attributes,
  keys: readonly string[],
  lists: readonly MessageListName[],
): unknown {
  const content = contentAt(attributes, keys);
  // JSON that was cut can only be shown as text.
  const isCut = typeof content === "string" && content.length === ATTRIBUTE_CHARS_MAX &&
    /^\s*[{[]/.test(content);
  if (content !== undefined && !isCut) return content;
  return lists.map((list) => attributes.get(list)).find((list) => list !== undefined) ?? content;
}
