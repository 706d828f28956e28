/**
 * Finds model calls that several instrumentations told, so that each is priced once.
 *
 * The decision is a function of the set of calls: neither order nor batches can change it.
 *
 * @module
 */
import { foldName, stripPrefixes, stripSuffixes } from "../pricing/model_names.ts";
import { isObject } from "../core/raw_json.ts";
import type { JsonFields } from "../core/body.ts";

/** An event of a run as stored, with its payload. */
export interface StoredSpan {
  /** Id of the event. */
  readonly id: string;
  /** Type of the event. */
  readonly type: string;
  /** Start, unix milliseconds. */
  readonly ts: number;
  /** The payload. */
  readonly data: JsonFields;
}

/** A model call of a run. */
interface SpanCall {
  readonly id: string;
  readonly spanId: string;
  readonly traceId: string;
  readonly parentId: string | null;
  readonly scope: string;
  readonly isRecord: boolean;
  readonly responseId: string | null;
  readonly model: string | null;
  readonly input: number | null;
  readonly output: number | null;
  readonly cached: number | null;
  readonly written: number | null;
  readonly startMs: number;
  readonly endMs: number;
}

/** Maximum model calls of a run whose twins are decided. */
export const TWIN_CALLS_MAX = 256;

/** Milliseconds by which a call may begin before the one around it, and end after it. */
const BEFORE_MS = 2, AFTER_MS = 5;

/** Scopes of the SDKs of providers, which know best what the provider said. */
const PROVIDER_SDK = /^com\.anthropic\.sdk\./;

/** Evidence that two spans are one call, strongest last. */
const SAME_FIGURES = 1, BELOW = 2, SAME_RESPONSE = 3;

/**
 * Returns the events that repeat a call of another event, with that event.
 *
 * @returns null if the run has more calls than are decided
 */
export function twinsOf(events: readonly StoredSpan[]): ReadonlyMap<string, string> | null {
  const groups = sameCalls(events);
  if (groups === null) return null;
  const twins = new Map<string, string>();
  for (const [priced, ...others] of groups) {
    for (const id of others) twins.set(id, priced ?? id);
  }
  return twins;
}

/**
 * Groups the events that are one model call; the first of each group is priced.
 *
 * @returns null for more calls than are decided
 */
export function sameCalls(
  events: readonly StoredSpan[],
): readonly (readonly string[])[] | null {
  const parents = new Map<string, string>();
  const calls: SpanCall[] = [];
  for (const event of events) {
    const span = isObject(event.data.span) ? event.data.span : {};
    const { id, parent } = span;
    if (typeof id !== "string") continue;
    if (typeof parent === "string") parents.set(id, parent);
    if (event.type === "llm_call") calls.push(callOf(event, span, id));
  }
  if (calls.length > TWIN_CALLS_MAX) return null;
  return Array.from(groupsOf(calls, parents), (group) =>
    group
      .toSorted((a, b) => tellsOf(b) - tellsOf(a) || compareCalls(a, b))
      .map(({ id }) => id));
}

function callOf({ id, ts, data }: StoredSpan, span: JsonFields, spanId: string): SpanCall {
  const count = (value: unknown) => typeof value === "number" ? value : null;
  const text = (value: unknown) => typeof value === "string" ? value : null;
  return {
    id,
    spanId,
    traceId: text(span.trace) ?? "",
    parentId: text(span.parent),
    scope: text(span.scope) ?? "",
    isRecord: span.record === true,
    responseId: text(data.response_id),
    model: modelKeyOf(text(data.model)),
    input: count(data.input_tokens),
    output: count(data.output_tokens),
    cached: count(data.cached_input_tokens),
    written: count(data.cache_creation_input_tokens),
    startMs: ts,
    endMs: ts + (count(data.latency_ms) ?? 0),
  };
}

/** Returns a model's name without date and vendor. */
export function modelKeyOf(model: string | null): string | null {
  if (model === null) return null;
  const folded = foldName(model);
  const name = stripPrefixes(folded, () => true).at(-1)?.name ?? folded;
  return stripSuffixes(name).at(-1) ?? name;
}

/** A pair of spans that may be one call. */
interface Pair {
  readonly a: SpanCall;
  readonly b: SpanCall;
  readonly evidence: number;
  /** Milliseconds between their starts and between their ends. */
  readonly distanceMs: number;
}

/**
 * Groups the spans of each call, by the strongest evidence first. A group has one span of each
 * instrumentation, because two spans of one are two calls.
 */
function groupsOf(
  calls: readonly SpanCall[],
  parents: ReadonlyMap<string, string>,
): Iterable<readonly SpanCall[]> {
  const pairs = pairsOf(calls, parents).sort((one, other) =>
    other.evidence - one.evidence || one.distanceMs - other.distanceMs ||
    compareCalls(one.a, other.a) || compareCalls(one.b, other.b)
  );
  const groups = new Map<SpanCall, readonly SpanCall[]>(calls.map((call) => [call, [call]]));
  for (const { a, b } of pairs) {
    const [ofA = [], ofB = []] = [groups.get(a), groups.get(b)];
    if (ofA === ofB || ofA.some((one) => ofB.some((other) => !mayBeOne(one, other)))) continue;
    const joined = [...ofA, ...ofB];
    for (const call of joined) groups.set(call, joined);
  }
  return new Set(groups.values());
}

function pairsOf(calls: readonly SpanCall[], parents: ReadonlyMap<string, string>): Pair[] {
  const sorted = calls.toSorted(compareCalls);
  const pairs: Pair[] = [];
  for (const [i, a] of sorted.entries()) {
    for (const b of sorted.slice(i + 1)) {
      if (!mayBeOne(a, b)) continue;
      const evidence = evidenceOf(a, b, parents);
      if (evidence === 0) continue;
      const distanceMs = Math.abs(a.startMs - b.startMs) + Math.abs(a.endMs - b.endMs);
      pairs.push({ a, b, evidence, distanceMs });
    }
  }
  return pairs;
}

/** Two spans of one scope are two calls, but for a stream's call and the record of its end. */
function mayBeOne(a: SpanCall, b: SpanCall): boolean {
  return a.scope !== b.scope || isRecordOf(a, b) || isRecordOf(b, a);
}

/** Returns whether a record tells the end of a stream that a call opened. */
function isRecordOf(record: SpanCall, call: SpanCall): boolean {
  return record.isRecord && !call.isRecord && record.parentId === call.parentId &&
    record.model === call.model && call.input === null && call.startMs <= record.startMs;
}

function evidenceOf(a: SpanCall, b: SpanCall, parents: ReadonlyMap<string, string>): number {
  if (a.scope === b.scope) return BELOW;
  if (a.responseId !== null && a.responseId === b.responseId) return SAME_RESPONSE;
  if (isBelow(a, b, parents) || isBelow(b, a, parents)) return BELOW;
  const haveSameFigures = a.model !== null && a.model === b.model &&
    a.output !== null && a.output === b.output &&
    (a.input === null || b.input === null || a.input === b.input);
  return haveSameFigures && (isInside(a, b) || isInside(b, a)) ? SAME_FIGURES : 0;
}

/** Maximum levels of a tree that are climbed; a circle of parents ends there too. */
const LEVELS_MAX = 64;

function isBelow(
  { parentId }: SpanCall,
  { spanId }: SpanCall,
  parents: ReadonlyMap<string, string>,
): boolean {
  let parent = parentId;
  for (let level = 0; level < LEVELS_MAX && parent !== null; level++) {
    if (parent === spanId) return true;
    parent = parents.get(parent) ?? null;
  }
  return false;
}

function isInside(inner: SpanCall, outer: SpanCall): boolean {
  return inner.startMs >= outer.startMs - BEFORE_MS && inner.endMs <= outer.endMs + AFTER_MS;
}

/** Returns how much a span tells; the one that tells most is priced. */
function tellsOf({ input, cached, written, scope }: SpanCall): number {
  return 8 * Number(input !== null) + 4 * Number(cached !== null) +
    2 * Number((written ?? 0) > 0) + Number(PROVIDER_SDK.test(scope));
}

/** Orders calls by the ids of their traces and spans. */
function compareCalls(a: SpanCall, b: SpanCall): number {
  return compareTexts(a.traceId, b.traceId) || compareTexts(a.spanId, b.spanId) ||
    compareTexts(a.id, b.id);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
